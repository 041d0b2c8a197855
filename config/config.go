// Package config reads Magpie's one YAML file into typed values: defaults,
// variables, secrets and every check that needs no adapter. A wrong file gives
// one *Error with all of its problems, each with its place and what would be
// right. The section of a channel stays undecoded until its adapter asks
// (Channel.Decode). The package starts no goroutine and keeps nothing.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"magpie/internal/rights"
)

// Config is the effective configuration: what the file says over the
// defaults. The keys are described in deploy/config.example.yaml. It is not
// changed after Load; whoever shares it only reads.
type Config struct {
	Home
	Log      Log
	Bus      Bus
	LLM      LLM `yaml:"llm"`
	Agent    Agent
	Subagent Subagent
	// Channels are sorted by name. There is always one of type web.
	Channels []Channel `yaml:"-"`
	Media    Media
	Tools    Tools
	Cron     Cron
	Security Security
	Web      Web
}

// Home says where things are.
type Home struct {
	// File is the configuration file; "" when there is none.
	File string `yaml:"-"`
	// Blank: there is a file and it says nothing, not even {}.
	Blank bool `yaml:"-"`
	// Files are all files that the configuration was made of: File, the file of
	// variables beside it and those that hold secrets. One of them may be
	// missing; it would be read if it were there.
	Files     []string `yaml:"-"`
	DataDir   string
	Workspace string // default: workspace in DataDir
	Timezone  string // IANA name; "" is the zone of the host

	origin origin
}

// origin is what is needed to point at a key of the file.
type origin struct {
	blank  report // without problems
	root   *node
	named  []string // variables that the file beside the configuration sets
	warned []string // what was seen while the file was read
}

// Errorf returns an *Error that points at a key, such as tools.policy[0].tool:
// what is wrong with it that this package cannot know.
func (h Home) Errorf(key, format string, args ...any) error {
	c := checker{report: &h.origin.blank, root: h.origin.root}
	c.bad(key, format, args...)
	return c.err()
}

// MCPDir holds the working folders of started MCP servers. No tool may write
// there: servers run code that they find in their folder, outside of any
// sandbox.
func (h Home) MCPDir() string { return filepath.Join(h.DataDir, "mcp") }

// Location returns the default time zone. Load has checked the name.
func (h Home) Location() *time.Location {
	if h.Timezone == "" {
		return hostZone()
	}
	zone, err := time.LoadLocation(h.Timezone)
	if err != nil {
		return time.Local
	}
	return zone
}

const (
	// PathVariable names the variable that names the configuration file.
	PathVariable = "BOT_CONFIG"
	// defaultPath is read when nothing else is named, if it is there.
	defaultPath = "config.yaml"
	// maxFile bounds the file in bytes: a long real one has 20 KiB.
	maxFile = 256 << 10
)

// Load reads the file at path; with path "" the one that $BOT_CONFIG names,
// else ./config.yaml if there is one, else only the defaults. env looks up
// variables (os.LookupEnv); nil knows none.
//
// The error is an *Error when the configuration is wrong. A Config is returned
// beside it when the file could be read at all, so that more can be checked;
// it must not be run.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	path, data, err := read(path, env)
	if err != nil {
		return nil, &Error{Problems: []Problem{unread(path, err, rights.Read)}}
	}
	return Parse(path, data, env)
}

// Parse is Load of a file whose content is known already; path "" is no file.
// Secrets and variables are read from the files beside it all the same.
func Parse(path string, data []byte, env func(string) (string, bool)) (*Config, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	d := &decoder{report: &report{file: path}, files: &[]string{}, warned: &[]string{}}
	var named []string
	if path != "" {
		*d.files = append(*d.files, path, EnvFile(path))
		env, named = d.variables(EnvFile(path), env)
	}
	raw := env
	env = tidy(raw)
	d.env = env
	root := parse(data, d.report)
	if root == nil {
		if err := d.err(); err != nil {
			return nil, err
		}
		root = &node{}
	}
	cfg := Default()
	cfg.File, cfg.Blank = path, path != "" && root.kind == null
	d.root(root, &cfg)
	cfg.Files = *d.files
	cfg.complete(env)
	warned := slices.Concat(*d.warned, wrapped(root.uses(), raw))
	cfg.origin = origin{blank: report{file: path, env: env}, root: root, named: named, warned: warned}
	c := checker{report: d.report, root: root, cfg: &cfg}
	c.all()
	return &cfg, d.err()
}

// read finds the file and returns its name, "" for none, and content.
func read(path string, env func(string) (string, bool)) (name string, data []byte, err error) {
	name = path
	if name == "" {
		name, _ = env(PathVariable)
	}
	optional := name == ""
	if optional {
		name = defaultPath
	}
	f, err := os.Open(name)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return name, nil, reason(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return name, nil, errors.New("is a folder, want a file")
	}
	data, err = readBounded(f, maxFile)
	return name, data, reason(err)
}

// unread is the problem of a file that could not be read; denied says more when
// this user may not.
func unread(path string, err error, denied func(path string) rights.Denied) Problem {
	if errors.Is(err, fs.ErrPermission) {
		d := denied(path)
		return Problem{File: path, Text: d.Why, Todo: d.Todo}
	}
	return Problem{File: path, Text: reason(err).Error()}
}

// reason drops the path that a Problem names already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", e.Err)
	}
	return err
}

func readBounded(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("is larger than %d bytes", most)
	}
	return data, err
}

// root decodes everything but the channels by the shape of Config.
func (d *decoder) root(n *node, cfg *Config) {
	rest := *n
	rest.pairs = nil
	var channels *pair
	for _, p := range n.pairs {
		switch {
		case p.key != "channels":
			rest.pairs = append(rest.pairs, p)
		case channels != nil:
			d.add(p.place, p.key, "given twice: remove one of them")
		default:
			channels = &p
		}
	}
	// Channels is nothing that a section could be decoded into.
	shape := reflect.ValueOf(cfg).Elem()
	d.section(&rest, "", shape, "channels")
	cfg.Channels = d.channels(channels)
}

// complete fills what depends on other keys or on the environment.
func (c *Config) complete(env func(string) (string, bool)) {
	home, _ := env("HOME")
	paths := append(pathList(c.Tools.AllowedPaths), &c.DataDir, &c.Workspace, &c.Agent.SystemPromptFile)
	for _, s := range c.Tools.MCPServers {
		paths = append(paths, pathList(s.Paths)...)
	}
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(*p, "~/"); ok && home != "" {
			*p = filepath.Join(home, rest)
		}
	}
	if c.Workspace == "" {
		c.Workspace = filepath.Join(c.DataDir, "workspace")
	}
	if len(c.LLM.Models) == 0 {
		c.LLM.Models = modelsFrom(env)
	}
	for i := range c.LLM.Models {
		c.LLM.Models[i].complete(i)
	}
	c.Web.complete()
	c.Web.lend(c.Channels)
}

func pathList(paths []string) []*string {
	all := make([]*string, len(paths))
	for i := range paths {
		all[i] = &paths[i]
	}
	return all
}
