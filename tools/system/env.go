package system

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Env is the environment as the sessions see it: that of their commands, and
// over it what each session has set for itself.
type Env struct {
	table   kv.Table
	base    map[string]string // what commands see
	allowed []string          // what of it get_env tells
	names   []string          // patterns of what else may be set
}

// NewEnv returns an Env; allowed are the names of the environment that tools may
// see. What sessions set stands in table.
func NewEnv(table kv.Table, allowed []string) *Env {
	return &Env{table: table, allowed: append([]string{"PATH", "HOME", "LANG", "TERM", "TZ"}, allowed...)}
}

// For is the same for sessions whose commands see base, for which the bot's own
// variables stand in when it is nil, and that may also set the variables of
// these names; an * at their end stands for anything.
func (e *Env) For(base map[string]string, settable []string) *Env {
	other := *e
	other.base, other.names = base, settable
	return &other
}

// variable is what a session has set. Older versions stored its text alone.
type variable struct {
	Value string        `json:"value"`
	From  []chat.Source `json:"from,omitempty"` // what the turn had read of others
}

// UnmarshalJSON reads both forms.
func (v *variable) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &v.Value)
	}
	type plain variable
	return json.Unmarshal(raw, (*plain)(v))
}

// Overlay is what a session has set.
type Overlay struct {
	Vars map[string]string
	From []chat.Source // the text from outside that was read before
	// Kept are names that an older version let be set; commands do not see them.
	Kept []string
}

// Overlay is what a session has set.
func (e *Env) Overlay(ctx context.Context, session chat.SessionKey) (o Overlay, err error) {
	o.Vars = map[string]string{}
	entry, err := e.table.Get(ctx, string(session))
	if errors.Is(err, kv.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return o, fmt.Errorf("read the session's environment: %w", err)
	}
	vars := map[string]variable{}
	if err := json.Unmarshal(entry.Value, &vars); err != nil {
		return o, fmt.Errorf("decode the session's environment: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if e.settable(setEnvIn{name, vars[name].Value}) != nil {
			o.Kept = append(o.Kept, name)
			continue
		}
		o.Vars[name] = vars[name].Value
		o.From = chat.JoinSources(o.From, vars[name].From)
	}
	return o, nil
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
		o, err := e.Overlay(ctx, sc.Addr.Session())
		if err != nil {
			return tools.Result{}, err
		}
		value, set := o.Vars[in.Key]
		if !set {
			if !slices.Contains(e.allowed, in.Key) {
				return tools.Result{}, tools.Errorf(tools.Permission, "the variable %s is not for tools to see; those are: %s", in.Key, strings.Join(e.allowed, ", "))
			}
			value, set = e.lookup(in.Key)
			o.From = nil
		}
		return tools.Result{Text: quoted(value, set), Sources: o.From, Untrusted: len(o.From) > 0}, nil
	})
}

// lookup finds a variable that every command sees.
func (e *Env) lookup(name string) (value string, set bool) {
	if e.base == nil {
		if name == "HOME" { // the bot's, which no tool has to do with
			return "", false
		}
		return os.LookupEnv(name)
	}
	value, set = e.base[name]
	return value, set
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
		Name: "set_env", Description: strings.TrimSpace(setEnvText), Category: tools.System, Effect: tools.Acts, Main: "key",
		Aliases: map[string]string{"name": "key", "variable": "key"},
	}
	return tools.New(spec, func(ctx context.Context, sc tools.Scope, in setEnvIn) (tools.Result, error) {
		if err := e.settable(in); err != nil {
			return tools.Result{}, err
		}
		before, err := e.set(ctx, sc, in)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Text: fmt.Sprintf("%s is set for the commands of this chat; before: %s", in.Key, before)}, nil
	}, tools.WithJudge(func(args json.RawMessage) error {
		var in setEnvIn
		if json.Unmarshal(args, &in) != nil {
			return nil // Call says it
		}
		return e.settable(in)
	}))
}

// settable lets only variables be set of which it is known that no program takes
// them for code, for a file or for a place to load from. A list of those that
// are dangerous would never end.
func (e *Env) settable(in setEnvIn) error {
	switch {
	case len(in.Value) > maxValue:
		return tools.Errorf(tools.InvalidArgs, "the value has %d bytes, at most %d; put it into a file", len(in.Value), maxValue)
	case strings.ContainsRune(in.Value, 0):
		return tools.Errorf(tools.InvalidArgs, "the value holds a NUL")
	case slices.ContainsFunc(e.names, func(p string) bool { return fits(p, in.Key) }):
		return nil
	case !slices.ContainsFunc(usual(), func(p string) bool { return fits(p, in.Key) }):
		return tools.Errorf(tools.Security, "%s cannot be set for all commands of the chat: programs may take it for code or for a place to load from. Put it before the one command that needs it (%s=value command), or into a file that the program is told of; the operator can list it in tools.exec.set_env. These can be set: %s", in.Key, in.Key, strings.Join(append(usual(), e.names...), ", "))
	case strings.HasPrefix(in.Key, "APP_") || strings.HasPrefix(in.Key, "MY_"):
		return nil
	case !calm(in.Value):
		return tools.Errorf(tools.Security, "%s takes a short word such as production, zh_CN.UTF-8 or Asia/Shanghai here, of letters, digits and . _ : @ , + -", in.Key)
	case in.Key != "TZ" && strings.Contains(in.Value, "/"), strings.HasPrefix(in.Value, "/"), strings.HasPrefix(in.Value, ":"), strings.Contains(in.Value, ".."):
		return tools.Errorf(tools.Security, "%s may not hold a path here", in.Key)
	}
	return nil
}

// calm says whether no program can take a value for a command line or a file.
func calm(value string) bool {
	const most = 200
	return utf8.ValidString(value) && utf8.RuneCountInString(value) <= most && !strings.ContainsFunc(value, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._:@,+/<>-", r)
	})
}

// usual are names that only say how a program is to speak or what it is to call
// its surroundings. APP_ and MY_ are nobody's but those who make them up.
func usual() []string {
	return strings.Fields("LANG LANGUAGE LC_* TZ NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES DEBUG VERBOSE LOG_LEVEL NODE_ENV APP_* MY_*")
}

// fits says whether a name is meant by one that may end in *.
func fits(pattern, name string) bool {
	if lead, open := strings.CutSuffix(pattern, "*"); open {
		return len(lead) > 0 && strings.HasPrefix(name, lead)
	}
	return name == pattern
}

// set stores a variable and returns what it was before, as quoted writes it.
func (e *Env) set(ctx context.Context, sc tools.Scope, in setEnvIn) (before string, err error) {
	err = kv.Modify(ctx, e.table, string(sc.Addr.Session()), 0, func(old []byte) ([]byte, error) {
		vars := map[string]variable{}
		if old != nil {
			if err := json.Unmarshal(old, &vars); err != nil {
				return nil, fmt.Errorf("decode the session's environment: %w", err)
			}
		}
		was, set := vars[in.Key]
		if !set && len(vars) >= maxVariables {
			return nil, tools.Errorf(tools.InvalidArgs, "%d variables are set already, at most %d", len(vars), maxVariables)
		}
		value := was.Value
		if !set && slices.Contains(e.allowed, in.Key) {
			value, set = e.lookup(in.Key)
		}
		before = quoted(value, set)
		vars[in.Key] = variable{in.Value, sc.Sources}
		return json.Marshal(vars)
	})
	return before, err
}
