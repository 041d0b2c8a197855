package setup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/config"
)

// variables are the lines of .env with those to be added.
type variables struct {
	path  string
	text  string
	was   []byte // nil: there is no file yet
	set   map[string]string
	added []string // names
	env   func(string) (string, bool)
}

func readVariables(path string, env func(string) (string, bool)) (*variables, error) {
	v := &variables{path: path, env: env, set: map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the variables: %w", err)
	}
	v.text, v.was = string(data), data
	v.set, _ = config.ParseEnv(data) // loading the configuration says what is wrong with it
	return v, nil
}

func (v *variables) look(name string) (string, bool) {
	if value, ok := v.env(name); ok && value != "" {
		return value, true
	}
	value, ok := v.set[name]
	return value, ok
}

func (v *variables) clone() *variables {
	c := *v
	c.set, c.added = maps.Clone(v.set), slices.Clone(v.added)
	return &c
}

// put makes sure that .env sets a variable to value and returns its name: the
// first of the names that is free or holds the value already.
func (v *variables) put(value string, names ...string) (string, error) {
	for _, base := range slices.Clone(names) {
		for n := 2; n < 100; n++ {
			names = append(names, fmt.Sprintf("%s_%d", base, n))
		}
	}
	for _, name := range names {
		outside, _ := v.env(name)
		inside := v.set[name]
		if outside != "" && outside != value || inside != "" && inside != value {
			continue
		}
		if inside == value {
			return name, nil
		}
		line, ok := config.EnvLine(name, value)
		if !ok {
			return "", fmt.Errorf("a value for %s holds a quote or the end of a line: put it into a file and give <key>_file", name)
		}
		if v.text != "" && !strings.HasSuffix(v.text, "\n") {
			v.text += "\n"
		}
		v.text += line + "\n"
		v.set[name] = value
		v.added = append(v.added, name)
		return name, nil
	}
	return "", fmt.Errorf("no name is left for %s", names[0])
}

// Write puts both files in place: .env first, which the other one refers to,
// and as it was when that one fails.
func (d *Draft) Write() error {
	now, err := os.ReadFile(d.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(now) != string(d.was) {
		return fmt.Errorf("%s has changed meanwhile; nothing was written", d.Path)
	}
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if len(d.env.added) == 0 {
		return replaceFile(d.Path, d.text.Bytes())
	}
	now, err = os.ReadFile(d.env.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(now) != string(d.env.was) {
		return fmt.Errorf("%s has changed meanwhile; nothing was written", d.env.path)
	}
	if err := replaceFile(d.env.path, []byte(d.env.text)); err != nil {
		return err
	}
	err = replaceFile(d.Path, d.text.Bytes())
	switch {
	case err == nil:
		return nil
	case d.env.was == nil:
		return errors.Join(err, os.Remove(d.env.path))
	}
	return errors.Join(err, replaceFile(d.env.path, d.env.was))
}

// replaceFile writes a file that only its owner reads, whole or not at all.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".bot-init-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // it is gone when all went well
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if os.Rename(f.Name(), path) == nil {
		return nil
	}
	// A file that is mounted alone cannot be replaced.
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chmod(path, 0o600)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
