package main

import (
	"fmt"
	"net"
	"strconv"

	"kernel.org/pub/linux/libs/security/libcap/cap"

	"github.com/headgate/headgate/cmd/headgate/internal/privilege"
	"github.com/headgate/headgate/userspace/config"
)

// lowestFree is the lowest port that anybody may listen on.
const lowestFree = 1024

// giveUpPrivileges gives up what a configuration does not need once it is in force.
func giveUpPrivileges(file *config.File) error {
	if err := privilege.Keep(needed(file)...); err != nil {
		return fmt.Errorf("%w; the agent does not run with more than it needs", err)
	}
	return nil
}

// needed returns the capabilities that the agent needs to keep a configuration in force and to read it again.
func needed(file *config.File) (all []cap.Value) {
	if file.Kernel != nil {
		all = append(all, privilege.BPF, privilege.NetAdmin) // CAP_PERFMON was for loading the program
	}
	if hasLowPort(file) {
		all = append(all, privilege.LowPorts)
	}
	if len(file.Groups()) > 0 {
		all = append(all, privilege.ChangeGroup)
	}
	if file.HandDown != nil && len(file.HandDown.NginxLogs) > 0 || hasTLS(file) || hasSecrets(file.Redis) {
		all = append(all, privilege.ReadAllFiles)
	}
	return all
}

func hasLowPort(file *config.File) bool {
	for _, l := range file.Listeners() {
		if l.Network != "tcp" {
			continue
		}
		_, text, err := net.SplitHostPort(l.Address)
		if port, portErr := strconv.Atoi(text); err == nil && portErr == nil && port < lowestFree {
			return true
		}
	}
	return false
}

// hasSecrets reports whether connections to Redis need files that are read again and again.
func hasSecrets(r *config.Redis) bool {
	return r != nil && (r.PasswordFile != "" || r.SentinelPasswordFile != "" || r.TLS != nil && r.TLS.Certificate != "")
}

func hasTLS(file *config.File) bool {
	for _, l := range file.Listeners() {
		if l.TLS != nil {
			return true
		}
	}
	return false
}
