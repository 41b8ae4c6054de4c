package agent

import "github.com/headgate/headgate/userspace/config"

// sources returns the files that the configuration consists of.
func sources(path string, file *config.File) []string {
	all := []string{path}
	if file != nil && file.Kernel != nil {
		for _, f := range file.Kernel.RuleFiles {
			all = append(all, f.Path)
		}
	}
	return all
}
