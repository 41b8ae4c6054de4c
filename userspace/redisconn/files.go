package redisconn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/headgate/headgate/userspace/config"
)

// CheckFiles returns what is wrong with the files that a configuration names: what Open fails for, and passwords that
// everybody may read. Of a file that only others may read nothing is known.
func CheckFiles(c config.Redis) (all []error) {
	for _, file := range []string{c.PasswordFile, c.SentinelPasswordFile} {
		if err := checkPassword(file); err != nil {
			all = append(all, err)
		}
	}
	if _, err := trust(c.TLS); err != nil && !errors.Is(err, fs.ErrPermission) {
		all = append(all, err)
	}
	return all
}

func checkPassword(file string) error {
	if _, err := password(file); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o004 != 0 {
		return fmt.Errorf("password: everybody on this machine may read %s; chmod o= %s", file, file)
	}
	return nil
}
