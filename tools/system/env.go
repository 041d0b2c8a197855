package system

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

//go:embed get_env.md
var getEnvText string

//go:embed set_env.md
var setEnvText string

// The bounds of what a session may set.
const (
	maxVariables = 100
	maxValue     = 8 << 10 // bytes
)

// Env is the environment as the sessions see it: what the configuration names
// of the bot's own, and over it what each session has set for itself.
type Env struct {
	table   kv.Table
	allowed []string
}

// NewEnv returns an Env; allowed are the names of the bot's own environment
// that tools may see. What sessions set stands in table.
func NewEnv(table kv.Table, allowed []string) *Env {
	return &Env{table: table, allowed: append([]string{"PATH", "HOME", "LANG", "TERM", "TZ"}, allowed...)}
}

// Overlay is what a session has set.
func (e *Env) Overlay(ctx context.Context, session chat.SessionKey) (map[string]string, error) {
	entry, err := e.table.Get(ctx, string(session))
	if errors.Is(err, kv.ErrNotFound) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the session's environment: %w", err)
	}
	vars := map[string]string{}
	if err := json.Unmarshal(entry.Value, &vars); err != nil {
		return nil, fmt.Errorf("decode the session's environment: %w", err)
	}
	return vars, nil
}

type getEnvIn struct {
	Key string `json:"key" jsonschema:"Name of the variable." rule:"maxlen=128,pattern=^[A-Za-z_][A-Za-z0-9_]*$"`
}

// GetEnv makes get_env.
func (e *Env) GetEnv() tools.Tool {
	spec := tools.Spec{
		Name: "get_env", Description: strings.TrimSpace(getEnvText), Category: tools.System, Effect: tools.Reads, Main: "key",
		Aliases: map[string]string{"name": "key", "variable": "key"},
	}
	return tools.New(spec, func(ctx context.Context, sc tools.Scope, in getEnvIn) (tools.Result, error) {
		vars, err := e.Overlay(ctx, sc.Addr.Session())
		if err != nil {
			return tools.Result{}, err
		}
		value, set := vars[in.Key]
		if !set {
			if !slices.Contains(e.allowed, in.Key) {
				return tools.Result{}, tools.Errorf(tools.Permission, "the variable %s is not for tools to see; those are: %s", in.Key, strings.Join(e.allowed, ", "))
			}
			value, set = os.LookupEnv(in.Key)
		}
		return tools.Result{Text: quoted(value, set)}, nil
	})
}

// quoted writes a value as JSON, so that an unset one (null) is told from an
// empty one.
func quoted(value string, set bool) string {
	if !set {
		return "null"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "null" // strings can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type setEnvIn struct {
	Key   string `json:"key" jsonschema:"Name of the variable." rule:"maxlen=128,pattern=^[A-Za-z_][A-Za-z0-9_]*$"`
	Value string `json:"value" jsonschema:"Its new value."`
}

// SetEnv makes set_env.
func (e *Env) SetEnv() tools.Tool {
	spec := tools.Spec{
		Name: "set_env", Description: strings.TrimSpace(setEnvText), Category: tools.System, Effect: tools.Writes, Main: "key",
		Aliases: map[string]string{"name": "key", "variable": "key"},
	}
	return tools.New(spec, func(ctx context.Context, sc tools.Scope, in setEnvIn) (tools.Result, error) {
		if err := settable(in); err != nil {
			return tools.Result{}, err
		}
		before, err := e.set(ctx, sc.Addr.Session(), in)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Text: fmt.Sprintf("%s is set for the commands of this chat; before: %s", in.Key, before)}, nil
	})
}

// settable refuses variables that decide what programs load and run: a value
// for one of them is a command in disguise.
func settable(in setEnvIn) error {
	name := strings.ToUpper(in.Key)
	dangerous := slices.Contains([]string{"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "TMPDIR", "PERL5LIB", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "GIT_SSH_COMMAND", "PROMPT_COMMAND"}, name)
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_FUNC_", "PYTHON"} {
		dangerous = dangerous || strings.HasPrefix(name, prefix)
	}
	switch {
	case dangerous:
		return tools.Errorf(tools.Security, "%s decides what programs load or run and cannot be set; set it inside one command if you must", in.Key)
	case len(in.Value) > maxValue:
		return tools.Errorf(tools.InvalidArgs, "the value has %d bytes, at most %d; put it into a file", len(in.Value), maxValue)
	case strings.ContainsRune(in.Value, 0):
		return tools.Errorf(tools.InvalidArgs, "the value holds a NUL")
	}
	return nil
}

// set stores a variable and returns what it was before, as quoted writes it.
func (e *Env) set(ctx context.Context, session chat.SessionKey, in setEnvIn) (before string, err error) {
	err = kv.Modify(ctx, e.table, string(session), 0, func(old []byte) ([]byte, error) {
		vars := map[string]string{}
		if old != nil {
			if err := json.Unmarshal(old, &vars); err != nil {
				return nil, fmt.Errorf("decode the session's environment: %w", err)
			}
		}
		value, set := vars[in.Key]
		if !set && len(vars) >= maxVariables {
			return nil, tools.Errorf(tools.InvalidArgs, "%d variables are set already, at most %d", len(vars), maxVariables)
		}
		if !set && slices.Contains(e.allowed, in.Key) {
			value, set = os.LookupEnv(in.Key)
		}
		before = quoted(value, set)
		vars[in.Key] = in.Value
		return json.Marshal(vars)
	})
	return before, err
}
