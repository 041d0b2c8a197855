package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/agent/model"
	"magpie/channels/access"
	"magpie/config"
)

// reloadEvery is how often the files of the configuration are looked at. A
// change counts when they are the same for two looks, so that a file which is
// being written is not read half.
const reloadEvery = time.Second

// reloader takes a changed configuration while the program runs. What parts of
// the program can take is replaced all at once or not at all; the rest waits
// for a restart and is named. Turns keep what they began with.
type reloader struct {
	p     *program
	brain *brain
	tools *toolbox
	doors *doors

	mu      sync.Mutex
	loaded  time.Time // when the configuration in force was taken
	problem string    // why the newest one was not
	since   time.Time // of problem
	restart []string  // keys that wait for a restart
	files   []string  // that the newest configuration was read from
}

// CheckReload is the operation that says how the configuration in force is.
const CheckReload = "config.state"

// ReloadState is the answer of CheckReload.
type ReloadState struct {
	Running bool      `json:"running"` // false: no bot runs
	Loaded  time.Time `json:"loaded"`
	Problem string    `json:"problem,omitempty"` // of the file; the last good one is in force
	Since   time.Time `json:"since,omitzero"`
	Restart []string  `json:"restart_for,omitempty"` // keys that have changed and wait for a restart
}

func checkReload(_ context.Context, s state, _ json.RawMessage) (any, error) {
	if s.reload == nil {
		return ReloadState{}, nil
	}
	return s.reload.state(), nil
}

func (r *reloader) state() ReloadState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReloadState{Running: true, Loaded: r.loaded, Problem: r.problem, Since: r.since, Restart: slices.Clone(r.restart)}
}

// public is the part of the state that everybody may see.
func (r *reloader) public() any {
	s := r.state()
	return map[string]any{"ok": s.Problem == "", "loaded": s.Loaded, "restart_for": append([]string{}, s.Restart...)}
}

// stampOf changes when one of the files does.
func stampOf(files []string) string {
	var b strings.Builder
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			fmt.Fprintln(&b, file, "missing")
			continue
		}
		fmt.Fprintln(&b, file, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return b.String()
}

// run looks for changes until ctx ends.
func (r *reloader) run(ctx context.Context) error {
	if r.p.opts.Load == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	taken, last := r.p.stamp, r.p.stamp
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.p.opts.Hangup:
			taken = r.again()
			last = taken
		case <-tick.C:
			now := r.stamp()
			calm := now == last
			last = now
			if calm && now != taken {
				taken = r.again()
				last = taken
			}
		}
	}
}

func (r *reloader) stamp() string {
	if r.files == nil { // only run's goroutine uses them
		r.files = r.p.cfg.Files
	}
	return stampOf(r.files)
}

// again reads the configuration and takes it, or says why not. It returns the
// stamp of what was read: a change that comes meanwhile is still to be seen.
func (r *reloader) again() (read string) {
	read = r.stamp()
	files := r.files
	defer func() {
		if !slices.Equal(files, r.files) {
			read = r.stamp()
		}
	}()
	cfg, err := r.p.opts.Load()
	if err == nil && cfg.File != r.p.cfg.File { // ./config.yaml is gone, and no file at all is a good one too
		err = fmt.Errorf("%s is gone", r.p.cfg.File)
	}
	if err == nil && cfg.Blank && !r.p.config().Blank { // an editor has cut it to nothing, or the disk is full
		err = fmt.Errorf("%s is empty: put back what stood in it, or write {} when the defaults are meant", cfg.File)
	}
	if cfg != nil && len(cfg.Files) > 0 { // also of a wrong one: the file that it misses may be made
		r.files = cfg.Files
	}
	var changed []string
	if err == nil {
		changed, err = r.take(cfg)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.problem, r.since = r.tools.redact.Text(err.Error()), time.Now()
		r.p.log.Error("the changed configuration is wrong: the last good one stays in force", "err", r.problem)
		return read
	}
	r.problem, r.since, r.loaded = "", time.Time{}, time.Now()
	r.p.log.Info("configuration read again", "changed", changed)
	for _, w := range cfg.Warnings() {
		r.p.log.Warn("configuration", "problem", w)
	}
	if len(r.restart) > 0 {
		r.p.log.Warn("some changes of the configuration need a restart", "keys", r.restart)
	}
	return read
}

// take puts into force what can be; it returns the keys that have changed.
func (r *reloader) take(cfg *config.Config) ([]string, error) {
	now := r.p.config()
	next := merged(r.p.cfg, cfg)
	links, err := models(next)
	if err != nil {
		return nil, err
	}
	if _, err := model.New(links, nil); err != nil {
		return nil, err
	}
	gates := map[*door]access.Config{}
	for _, c := range next.Channels {
		if door := r.doors.byName[c.Name]; door != nil {
			gates[door] = accessOf(next, c)
			err = errors.Join(err, gates[door].Check())
		}
	}
	if err != nil {
		return nil, err
	}
	// Before the tools are made: they log.
	r.tools.redact.Add(unlogged(cfg, r.p.token))
	// With exec.env it is looked again whether one of the variables holds a key.
	if !reflect.DeepEqual(now.Tools, next.Tools) || len(next.Tools.Exec.Env) > 0 {
		if err := r.tools.change(next); err != nil {
			return nil, err
		}
	}
	if !reflect.DeepEqual(now.LLM, next.LLM) { // else what is known of a model's troubles is kept
		if err := r.brain.chain.Update(links); err != nil {
			return nil, err
		}
	}
	r.p.latest.Store(next)
	r.brain.ledger.Update(budget(next))
	r.p.meters.begin(next) // a new model is counted from 0
	r.tools.desk.Update(next.Security.Admins)
	for door, gate := range gates {
		door.gate.Update(gate)
	}
	r.brain.agent.Update(r.brain.kit(next, r.tools))
	r.mu.Lock()
	r.restart = config.Changes(next, cfg, sections(r.p.cfg), sections(cfg))
	r.mu.Unlock()
	return config.Changes(now, next, nil, nil), nil
}

// merged is start with what of cfg can be taken while the program runs.
func merged(start, cfg *config.Config) *config.Config {
	next := *start
	next.Files, next.Blank = cfg.Files, cfg.Blank
	next.LLM = cfg.LLM
	next.Agent = cfg.Agent
	next.Agent.MaxTurns, next.Agent.SystemPromptFile = start.Agent.MaxTurns, start.Agent.SystemPromptFile
	next.Tools = cfg.Tools
	next.Tools.MCPServers = start.Tools.MCPServers
	next.Security = cfg.Security
	next.Security.AuditLogEnabled = start.Security.AuditLogEnabled
	next.Channels = slices.Clone(start.Channels)
	for i := range next.Channels {
		c := &next.Channels[i]
		for _, other := range cfg.Channels {
			if other.Name == c.Name && other.Type == c.Type && other.Enabled && c.Enabled {
				c.Access = other.Access
			}
		}
	}
	return &next
}
