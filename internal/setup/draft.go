package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/config"
	"magpie/internal/zone"
)

// Tools are what a draft needs of the program around it.
type Tools struct {
	Env func(string) (string, bool)
	// Judge says everything that is wrong with a configuration that was read.
	Judge func(*config.Config, error) (*config.Config, error)
	// Secret says whether a key of a platform is one.
	Secret func(platform, key string) bool
	// Channel and Model try by a real call; nil tries nothing.
	Channel func(ctx context.Context, cfg *config.Config, name string) Finding
	Model   func(ctx context.Context, m config.Model) Finding
}

// Finding is what a trial came to.
type Finding struct {
	Check, Text string
	Todo        Words // what to do about it
	OK          bool
	// Malformed: the bot would not start with it, so that it cannot be kept.
	Malformed bool
	// Refused: the service was reached and does not take the keys.
	Refused bool
}

// Offers are the actions that make sense after the finding, the likeliest one
// first.
func (f Finding) Offers() []Action {
	switch {
	case f.OK:
		return nil
	case f.Malformed:
		return []Action{Change, Skip, Stop}
	case f.Refused:
		return []Action{Change, Retry, Keep, Skip, Stop}
	}
	return []Action{Retry, Change, Keep, Skip, Stop}
}

// Draft is a configuration file and its file of variables with what is to be
// added.
type Draft struct {
	Path  string // of the configuration
	Zone  string // that it has already
	tools Tools
	was   []byte // its content; nil: there is none yet
	text  *config.Text
	env   *variables
	added []string
}

// header begins a new file.
const header = "# Made by bot init. docs/configuration.md describes every key, bot config check finds mistakes.\n"

// Open reads the configuration at path, if there is one, and the variables
// beside it. One that is wrong already is an error.
func Open(path string, t Tools) (*Draft, error) {
	d := &Draft{Path: path, tools: t}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		d.Path = real
	}
	was, err := os.ReadFile(d.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	d.was = was
	if d.env, err = readVariables(config.EnvFile(d.Path), t.Env); err != nil {
		return nil, err
	}
	if was == nil {
		was = []byte(header)
	} else {
		cfg, err := t.Judge(config.Parse(d.Path, was, t.Env))
		if err != nil {
			return nil, err
		}
		d.Zone = cfg.Timezone
	}
	if d.text = config.NewText(was); d.text == nil {
		return nil, fmt.Errorf("%s: %w", d.Path, config.ErrPlace)
	}
	return d, nil
}

// There says whether the file exists, Filled whether something stands in it.
func (d *Draft) There() bool { return d.was != nil }

// Filled says whether something stands in the file already.
func (d *Draft) Filled() bool { return len(d.was) > 0 }

// Has says whether the file has a section or key at the top.
func (d *Draft) Has(key string) bool { return slices.Contains(d.text.Keys(""), key) }

// Channels are the names of the channels that are there.
func (d *Draft) Channels() []string { return d.text.Keys("channels") }

// Variable is the value of a variable, "" when it is not set.
func (d *Draft) Variable(name string) string {
	value, _ := d.env.look(name)
	return value
}

// Added is what the file gets, for people.
func (d *Draft) Added() []string { return d.added }

// Variables are the names that the file of variables gets, and the file.
func (d *Draft) Variables() (names []string, file string) { return d.env.added, d.env.path }

// Trial is one addition that was not taken yet.
type Trial struct {
	Finding Finding
	text    *config.Text
	env     *variables
	added   string
	run     func(ctx context.Context, cfg *config.Config) Finding
}

// Try looks at the form of what would be written and then makes the call. It
// can be repeated.
func (d *Draft) Try(ctx context.Context, t *Trial) {
	cfg, err := d.tools.Judge(config.Parse(d.Path, t.text.Bytes(), t.env.look))
	switch {
	case err != nil:
		t.Finding = Finding{Text: said(err), Malformed: true}
	case t.run == nil:
		t.Finding = Finding{OK: true}
	default:
		t.Finding = t.run(ctx, cfg)
	}
}

// Take makes a trial a part of the draft.
func (d *Draft) Take(t *Trial) {
	d.text, d.env = t.text, t.env
	d.added = append(d.added, t.added)
}

func (d *Draft) trial() *Trial {
	return &Trial{text: config.NewText(d.text.Bytes()), env: d.env.clone()}
}

// Section is a channel to be added.
type Section struct {
	Platform Platform
	Name     string
	Values   map[string]string
	Allow    []string
}

// Channel is the trial of a new section. Its secrets go into variables.
func (d *Draft) Channel(s Section) (*Trial, error) {
	t := d.trial()
	entry := config.Entry{Key: s.Name}
	put := func(key, value string) {
		entry.Entries = append(entry.Entries, config.Entry{Key: key, Value: value})
	}
	if s.Name != s.Platform.Name {
		put("type", s.Platform.Name)
	}
	for _, key := range s.keys() {
		value := s.Values[key]
		if value == "" {
			continue
		}
		if d.tools.Secret(s.Platform.Name, key) {
			variable, err := t.env.put(value, Variable(s.Name, key))
			if err != nil {
				return nil, err
			}
			value = "${" + variable + "}"
		}
		put(key, value)
	}
	if len(s.Allow) > 0 {
		entry.Entries = append(entry.Entries, config.Entry{Key: "allow", Value: config.List(s.Allow)})
	}
	added, err := t.text.Add("channels", entry)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Path, err)
	}
	t.added = added
	if d.tools.Channel != nil {
		t.run = func(ctx context.Context, cfg *config.Config) Finding { return d.tools.Channel(ctx, cfg, s.Name) }
	}
	return t, nil
}

// keys puts the platform's own first, in its order.
func (s Section) keys() []string {
	var all, rest []string
	for _, q := range s.Platform.Keys {
		if _, ok := s.Values[q.Key]; ok {
			all = append(all, q.Key)
		}
	}
	for key := range s.Values {
		if !slices.Contains(all, key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	return append(all, rest...)
}

// Model is the trial of a first model.
func (d *Draft) Model(m config.Model) (*Trial, error) {
	t := d.trial()
	entry := config.Entry{Key: "models", List: true, Entries: []config.Entry{
		{Key: "name", Value: m.Name}, {Key: "provider", Value: m.Provider}, {Key: "base_url", Value: m.BaseURL}, {Key: "model", Value: m.Model},
	}}
	if m.APIKey != "" {
		variable, err := t.env.put(string(m.APIKey), KeyVariable(m.Provider), "MODEL_API_KEY")
		if err != nil {
			return nil, err
		}
		entry.Entries = append(entry.Entries, config.Entry{Key: "api_key", Value: "${" + variable + "}"})
	}
	added, err := t.text.Add("llm", entry)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Path, err)
	}
	t.added = added
	if d.tools.Model != nil {
		t.run = func(ctx context.Context, cfg *config.Config) Finding { return d.tools.Model(ctx, cfg.LLM.Models[0]) }
	}
	return t, nil
}

// SetZone adds the time zone. An IANA name and the common names of places
// (北京, New York) are taken; of others, guess is the zone that was perhaps
// meant and taken is "".
func (d *Draft) SetZone(said string) (taken, guess string, err error) {
	name, sure := zone.Meant(said)
	if !sure {
		return "", name, nil
	}
	added, err := d.text.Add("", config.Entry{Key: "timezone", Value: name})
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", d.Path, err)
	}
	d.added = append(d.added, added)
	return name, "", nil
}

// Effective is the configuration as it would be.
func (d *Draft) Effective() (*config.Config, error) {
	return d.tools.Judge(config.Parse(d.Path, d.text.Bytes(), d.env.look))
}

// said is what is wrong, without the places of a file that does not exist yet.
func said(err error) string {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	var lines []string
	for _, p := range wrong.Problems {
		lines = append(lines, strings.TrimPrefix(p.Key+": "+withoutVariable(p.Text), ": "))
	}
	return strings.Join(lines, "\n      ")
}

// withoutVariable leaves out that a variable holds the value, when nothing else
// is to be said of the variable: the person has typed the value a moment ago.
func withoutVariable(text string) string {
	head, plain := strings.CutSuffix(text, " holds a text")
	if i := strings.LastIndex(head, "; the variable "); plain && i >= 0 {
		return head[:i]
	}
	return text
}
