package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/config"
)

// TestWrongFiles reads files that are wrong. What is said of each is beside it.
func TestWrongFiles(t *testing.T) {
	eachFile(t, "wrong", func(t *testing.T, name string, data []byte) {
		file, err := config.Parse("FILE", data)
		if err == nil || file != nil {
			t.Fatalf("Parse = %+v, %v; want no file and an error", file, err)
		}
		problems, ok := errors.AsType[config.Errors](err)
		if !ok {
			t.Fatalf("Parse = %v, which is no config.Errors", err)
		}
		golden.Check(t, name, lines(problems))
	})
}

// TestDoubtfulFiles reads files that are right, but probably not as meant.
func TestDoubtfulFiles(t *testing.T) {
	eachFile(t, "doubtful", func(t *testing.T, name string, data []byte) {
		file, err := config.Parse("FILE", data)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, lines(file.Warnings))
	})
}

func lines(problems []config.Problem) []byte {
	var text []byte
	for _, p := range problems {
		text = append(text, p.String()+"\n"...)
	}
	return text
}

func eachFile(t *testing.T, directory string, check func(t *testing.T, name string, data []byte)) {
	files, err := filepath.Glob(filepath.Join("testdata", directory, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", directory, err)
	}
	for _, path := range files {
		name := directory + "/" + strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			check(t, name, data)
		})
	}
}
