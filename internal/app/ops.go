package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/agent/memory"
	"magpie/bus"
	"magpie/config"
	"magpie/internal/console"
	"magpie/tools"
	"magpie/tools/mcp"
)

// OpPath is where a running bot takes operations: POST OpPath<name>, signed by
// console.SignOperator, with the input as JSON; the answer is JSON, or a status
// from 400 on and a text.
const OpPath = "/api/op/"

// opWait bounds an operation: a year of audit log of a busy bot is read in
// seconds.
const opWait = 5 * time.Minute

// state is what operations work on: the same of a running bot and of one that
// is not.
type state struct {
	cfg *config.Config
	bus *bus.Bus
	mcp *mcp.Manager // nil: the bot does not run
	// reload is nil when the bot does not run.
	reload *reloader
}

// op is something that a person does with the bot's state, from the shell or
// the console.
type op func(ctx context.Context, s state, in json.RawMessage) (any, error)

// errNoOp: there is no operation of that name.
var errNoOp = errors.New("no such operation")

// ops are all operations by name.
func ops() map[string]op {
	return map[string]op{
		CheckStore:      checkStore,
		CheckReload:     checkReload,
		"audit.tail":    tailAudit,
		"audit.verify":  verifyAudit,
		"cron.add":      cronAdd,
		"cron.change":   cronChange,
		"cron.export":   cronExport,
		"cron.list":     cronList,
		"mcp.list":      mcpList,
		"dlq.drop":      eachLetter(dropLetter),
		"dlq.list":      listLetters,
		"dlq.resubmit":  eachLetter(resubmitLetter),
		"dlq.show":      showLetter,
		"memory.owners": memoryOwners,
		"memory.list":   memoryList,
		"memory.add":    memoryAdd,
		"memory.remove": memoryRemove,
		"pair.approve":  approvePair,
		"pair.list":     listPairs,
		"pair.revoke":   revokePair,
		"session.clear": clearSession,
		"session.list":  listSessions,
		"session.show":  showSession,
		"trace":         trace,
	}
}

// Operate carries out an operation of a bot that is not running, or of any bot
// on an external bus, and decodes its answer into out.
func Operate(ctx context.Context, cfg *config.Config, name string, in json.RawMessage) (out json.RawMessage, err error) {
	giveBack, err := borrow(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	b, err := openBus(ctx, cfg, slog.New(slog.DiscardHandler), opener{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return operate(ctx, state{cfg: cfg, bus: b}, name, in)
}

func operate(ctx context.Context, s state, name string, in json.RawMessage) (json.RawMessage, error) {
	fn := ops()[name]
	if fn == nil {
		return nil, fmt.Errorf("%w: %q", errNoOp, name)
	}
	ctx, cancel := context.WithTimeout(ctx, opWait)
	defer cancel()
	out, err := fn(ctx, s, in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// opRoute takes operations for the running bot.
func (p *program) opRoute(t *toolbox, reload *reloader) console.Route {
	return console.Route{Pattern: "POST " + OpPath, Operator: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the input cannot be read", http.StatusBadRequest)
			return
		}
		out, err := operate(r.Context(), state{cfg: p.config(), bus: p.bus, mcp: t.mcp, reload: reload}, strings.TrimPrefix(r.URL.Path, OpPath), in)
		switch {
		case errors.Is(err, errNoOp):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(out) // who asked is gone, else it arrives
		}
	})}
}

// input decodes the input of an operation.
func input[T any](raw json.RawMessage) (in T, err error) {
	if len(raw) == 0 {
		return in, nil
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, fmt.Errorf("the input does not fit: %w", err)
	}
	return in, nil
}

// mcpList tells how the servers are; of a bot that does not run, which there
// are.
func mcpList(_ context.Context, s state, _ json.RawMessage) (any, error) {
	if s.mcp == nil {
		return mcp.New(mcpServers(s.cfg), mcp.Options{}).States(), nil
	}
	return s.mcp.States(), nil
}

// TestMCP is ProbeMCP by a program whose version does not matter.
func TestMCP(ctx context.Context, cfg *config.Config, log *slog.Logger, names ...string) ([]mcp.State, error) {
	return ProbeMCP(ctx, cfg, Options{Log: log}, names...)
}

// ProbeMCP connects once to the MCP servers of the configuration, or to those
// that are named.
func ProbeMCP(ctx context.Context, cfg *config.Config, o Options, names ...string) ([]mcp.State, error) {
	var picked []mcp.Server
	var known []string
	for _, s := range mcpServers(cfg) {
		known = append(known, s.Name)
		if len(names) == 0 || slices.Contains(names, s.Name) {
			picked = append(picked, s)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no MCP server %q is switched on; there are: %s", name, cmp.Or(strings.Join(known, ", "), "none"))
		}
	}
	redact := tools.NewRedactor(unlogged(cfg, ""))
	return mcp.New(picked, mcp.Options{
		Registry: &tools.Registry{}, Dir: cfg.MCPDir(), Wall: newWall(cfg, o.Log), Proxy: serverProxy(cfg), Version: o.Version, Log: o.Log, Redact: redact.Text,
	}).Test(ctx), nil
}

// MemoryInput is the input of the memory operations.
type MemoryInput struct {
	Owner  string `json:"owner"`            // as memory.Owner writes it
	Text   string `json:"text,omitempty"`   // add
	Number int    `json:"number,omitempty"` // remove
}

// MemoryOwner is one of those who have notes.
type MemoryOwner struct {
	Owner string `json:"owner"`
	Notes int    `json:"notes"`
}

func (s state) notes(raw json.RawMessage) (*memory.Store, memory.Owner, MemoryInput, error) {
	in, err := input[MemoryInput](raw)
	if err != nil {
		return nil, memory.Owner{}, in, err
	}
	owner, err := memory.ParseOwner(in.Owner)
	return memory.New(s.bus.Table("memory"), nil), owner, in, err
}

func memoryOwners(ctx context.Context, s state, _ json.RawMessage) (any, error) {
	owners, err := memory.New(s.bus.Table("memory"), nil).Owners(ctx)
	all := make([]MemoryOwner, 0, len(owners))
	for o, n := range owners {
		all = append(all, MemoryOwner{o.String(), n})
	}
	return all, err
}

func memoryList(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	store, owner, _, err := s.notes(raw)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, owner)
}

func memoryAdd(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	store, owner, in, err := s.notes(raw)
	if err != nil {
		return nil, err
	}
	return store.Add(ctx, owner, "bot memory", in.Text)
}

func memoryRemove(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	store, owner, in, err := s.notes(raw)
	if err != nil {
		return nil, err
	}
	return store.Remove(ctx, owner, in.Number)
}
