package host

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadCPU(t *testing.T) {
	tests := map[string]string{
		"processor\t: 0\nmodel name\t: A  CPU @ 1GHz\nmodel name\t: B\n": "A CPU @ 1GHz",
		"processor\t: 0\nBogoMIPS\t: 50.00\n":                            runtime.GOARCH,
	}
	for text, want := range tests {
		if got, err := readCPU(write(t, text)); got != want || err != nil {
			t.Errorf("readCPU of %q = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestReadKernel(t *testing.T) {
	if got, err := readKernel(write(t, "6.18.0\n")); got != "Linux 6.18.0" || err != nil {
		t.Errorf("readKernel = %q, %v, want %q", got, err, "Linux 6.18.0")
	}
}

func TestWithoutProc(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if got, err := readCPU(none); got != runtime.GOARCH || err != nil {
		t.Errorf("readCPU = %q, %v, want %q", got, err, runtime.GOARCH)
	}
	if got, err := readKernel(none); got != runtime.GOOS || err != nil {
		t.Errorf("readKernel = %q, %v, want %q", got, err, runtime.GOOS)
	}
}

func TestUnreadable(t *testing.T) {
	directory := t.TempDir()
	if _, err := readCPU(directory); err == nil {
		t.Error("readCPU of a directory succeeded")
	}
	if _, err := readKernel(directory); err == nil {
		t.Error("readKernel of a directory succeeded")
	}
}
