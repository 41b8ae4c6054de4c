package config

import (
	"path/filepath"
	"strings"
	"unicode"
)

// filePath returns the path of a file, empty if it is not given or wrong.
func (m mapping) filePath(name string) string {
	v := m.field(name)
	if !v.given() {
		return ""
	}
	path, _ := v.filePath()
	return path
}

func (v value) filePath() (string, bool) {
	text, ok := v.text()
	switch {
	case !ok:
	case text == "-":
		v.fail("- is standard input to commands only; use a path")
	case strings.ContainsFunc(text, unicode.IsControl):
		v.fail("%.40q: a path has no such characters; use %s", text, v.form)
	default:
		return text, true
	}
	return "", false
}

// maxSocket is the longest path of a unix socket, in bytes (sun_path, without the 0 at its end).
const maxSocket = 107

// checkSocket adds an error unless path can be that of a unix socket.
func (v value) checkSocket(path string) bool {
	switch {
	case !strings.HasPrefix(path, "/"):
		v.fail("%.40q is not an absolute path; use one, as /run/headgate/NAME.sock", path)
	case len(path) > maxSocket:
		v.fail("a path of %d bytes; the kernel takes up to %d for a socket", len(path), maxSocket)
	case strings.ContainsFunc(path, unicode.IsControl):
		v.fail("%.40q: a path has no such characters; use one, as /run/headgate/NAME.sock", path)
	default:
		return true
	}
	return false
}

// MakeAbsolute makes the paths of f that are not absolute begin at a directory, which is that of the file.
func (f *File) MakeAbsolute(directory string) {
	for _, path := range f.paths() {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(directory, *path)
		}
	}
}

// paths returns all paths of f that need not be absolute.
func (f *File) paths() []*string {
	all := []*string{&f.Log.File}
	if r := f.Redis; r != nil {
		all = append(all, &r.PasswordFile, &r.SentinelPasswordFile)
		if r.TLS != nil {
			all = append(all, &r.TLS.CA, &r.TLS.Certificate, &r.TLS.Key)
		}
	}
	if f.Kernel != nil {
		for i := range f.Kernel.RuleFiles {
			all = append(all, &f.Kernel.RuleFiles[i].Path)
		}
	}
	if f.HandDown != nil {
		for i := range f.HandDown.NginxLogs {
			all = append(all, &f.HandDown.NginxLogs[i])
		}
	}
	if f.Admin != nil {
		all = append(all, &f.Admin.TokenFile)
	}
	for _, l := range f.Listeners() {
		if l.TLS != nil {
			all = append(all, &l.TLS.Certificate, &l.TLS.Key)
		}
	}
	return all
}

// Listeners returns all listeners of f, but for the admin section's socket; what is changed of them is changed in f.
func (f *File) Listeners() []*Listener {
	var all []*Listener
	add := func(some []Listener) {
		for i := range some {
			all = append(all, &some[i])
		}
	}
	add(f.Listen)
	if f.Auth != nil {
		add(f.Auth.Listen)
		add(f.Auth.GRPC)
	}
	if f.Metrics != nil {
		all = append(all, &f.Metrics.Listen)
	}
	if f.Admin != nil && f.Admin.Listen != nil {
		all = append(all, f.Admin.Listen)
	}
	return all
}
