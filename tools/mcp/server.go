package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"magpie/tools"
	"magpie/tools/egress"
)

const (
	connectWait = 30 * time.Second // to start and to greet each other; npx may download
	listWait    = 20 * time.Second // for the list of tools
	keepAlive   = 30 * time.Second // a server that answers no ping for that long is gone
	steady      = time.Minute      // a connection that held so long begins with a short pause again
	mostRetries = 100              // times the first pause: the longest
	maxTools    = 256              // of one server
)

// server is one server with its connection.
type server struct {
	cfg Server
	opt Options

	mu         sync.Mutex
	session    *sdk.ClientSession // nil: not connected
	state      State
	registered map[string]tools.Spec
	walled     bool        // it runs in the sandbox
	way        *egress.Run // its way to the internet
	tasks      []string    // tools that run as tasks only
	reader     string      // the tool that reads the server's resources; "": it has none
}

func newServer(cfg Server, o Options) *server {
	s := &server{cfg: cfg, opt: o}
	o.Log = o.Log.With("server", cfg.Name)
	s.opt.Log = o.Log
	s.state = State{Name: cfg.Name, Kind: kindOf(cfg), Since: time.Now()}
	return s
}

func (s *server) snapshot() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Tools, st.Skipped = sorted(st.Tools), sorted(st.Skipped)
	return st
}

// run connects again and again until ctx ends.
func (s *server) run(ctx context.Context) {
	pause := s.opt.Retry
	for ctx.Err() == nil {
		began := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > steady {
			pause = s.opt.Retry
		}
		s.opt.Log.Warn("mcp server is tried again", "pause", pause, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, mostRetries*s.opt.Retry)
	}
}

// serve connects once and stays until the connection ends.
func (s *server) serve(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		s.gone(err)
	}()
	changed := make(chan struct{}, 1)
	session, stop, err := s.connect(ctx, changed)
	if err != nil {
		return err
	}
	defer func() {
		if said := stop(); err != nil && said != "" {
			err = fmt.Errorf("%w%s", err, said)
		}
	}()
	if err := s.refresh(ctx, session); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	defer func() {
		stop()
		<-ended
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended <- err
			if err == nil {
				return errors.New("the server has ended the connection")
			}
			return fmt.Errorf("the server has ended the connection: %w", s.clean(err))
		case <-changed:
			if err := s.refresh(ctx, session); err != nil {
				return err
			}
		}
	}
}

// try is serve without staying.
func (s *server) try(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.gone(fmt.Errorf("panic: %v", p))
		}
	}()
	session, stop, err := s.connect(ctx, make(chan struct{}, 1))
	if err == nil {
		err = s.refresh(ctx, session)
		s.withdraw()
		if said := stop(); err != nil && said != "" {
			err = fmt.Errorf("%w%s", err, said)
		}
	}
	if err != nil {
		s.gone(err)
	}
}

// connect greets the server. stop ends connection and process; it may be
// called twice.
func (s *server) connect(ctx context.Context, changed chan struct{}) (*sdk.ClientSession, ending, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "magpie", Version: s.opt.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, KeepAlive: keepAlive, KeepAliveFailureThreshold: 2,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	var errs error
	for _, open := range s.transports() {
		bound, cancel := context.WithTimeout(ctx, connectWait)
		session, end, err := open(bound, client)
		cancel()
		if err == nil {
			return session, sync.OnceValue(end), nil
		}
		errs = errors.Join(errs, s.clean(err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, nil, errs
}

// refresh reads the list of tools and registers what is on it.
func (s *server) refresh(ctx context.Context, session *sdk.ClientSession) error {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	var list []*sdk.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", s.clean(err))
		}
		if t != nil && tools.Picked(s.cfg.Tools, t.Name, matches) && len(list) < maxTools {
			list = append(list, t)
		}
	}
	list, tasks := s.callable(list)
	s.mu.Lock()
	s.session = session // before a model can see the tools
	s.mu.Unlock()
	if about := session.InitializeResult(); about != nil && about.Capabilities != nil && about.Capabilities.Resources != nil &&
		tools.Picked(append([]string{readResource}, s.cfg.Tools...), readResource, matches) {
		list = append(list, resourceTool)
	}
	names, skipped := s.register(list)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.Connected {
		s.state.Since = time.Now()
	}
	s.state.Connected, s.state.Err = true, ""
	s.state.Tools, s.state.Skipped, s.state.Tasks = names, skipped, tasks
	s.opt.Log.Info("mcp server connected", "tools", len(names))
	return nil
}

// callable takes those out that run as tasks only, which this program does not
// do.
func (s *server) callable(list []*sdk.Tool) (rest []*sdk.Tool, tasks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list {
		if slices.Contains(s.tasks, t.Name) {
			tasks = append(tasks, t.Name)
		} else {
			rest = append(rest, t)
		}
	}
	return rest, tasks
}

// register brings the registry to the list. A tool that stands already is there
// all the time, so that no call misses it.
func (s *server) register(list []*sdk.Tool) (names, skipped []string) {
	s.mu.Lock()
	before := s.registered
	s.mu.Unlock()
	now, taken, reader := map[string]tools.Spec{}, map[string]bool{}, ""
	skip := func(name string, err error) {
		s.opt.Log.Warn("tool of an mcp server is left out", "tool", name, "err", err)
		skipped = append(skipped, name+": "+err.Error())
	}
	for _, t := range list {
		if err := usable(t); err != nil {
			skip(t.Name, err)
			continue
		}
		tool := s.tool(t, taken)
		if err := s.put(tool, before); err != nil {
			skip(t.Name, err)
			continue
		}
		if tool.own {
			reader = tool.spec.Name
		}
		now[tool.spec.Name] = tool.spec
		names = append(names, tool.spec.Name)
	}
	for name := range before {
		if _, stays := now[name]; !stays {
			s.opt.Registry.Unregister(name)
		}
	}
	s.mu.Lock()
	s.registered, s.reader = now, reader
	s.mu.Unlock()
	return names, skipped
}

// put registers a tool, unless it stands already as it is.
func (s *server) put(tool *remote, before map[string]tools.Spec) error {
	old, stands := before[tool.spec.Name]
	switch {
	case !stands:
		return s.opt.Registry.Register(tool)
	case !reflect.DeepEqual(old, tool.spec):
		return s.opt.Registry.Replace(tool)
	}
	return nil
}

// withdraw takes the server's tools out of the registry.
func (s *server) withdraw() {
	s.mu.Lock()
	names := s.registered
	s.registered = nil
	s.mu.Unlock()
	for n := range names {
		s.opt.Registry.Unregister(n)
	}
}

// gone notes that there is no connection. The tools go with it: a model is not
// offered what cannot work.
func (s *server) gone(err error) {
	s.withdraw()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Connected {
		s.state.Since = time.Now()
	}
	s.session, s.state.Connected, s.state.Tools = nil, false, nil
	if err != nil {
		s.state.Err = err.Error()
	}
}

func (s *server) current() (*sdk.ClientSession, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session, s.state.Err
}

// clean takes secrets out of an error.
func (s *server) clean(err error) error {
	if text := s.opt.Redact(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// usable says what the registry cannot know to be wrong with a tool.
func usable(t *sdk.Tool) error {
	if strings.TrimSpace(t.Name) == "" {
		return errors.New("a tool without a name cannot be called")
	}
	return references(schemaOf(t.InputSchema))
}

// tool makes a tool of the registry of one of the server's.
func (s *server) tool(t *sdk.Tool, taken map[string]bool) *remote {
	spec := tools.Spec{
		Name: localName(s.cfg.Name, t.Name, taken), Description: describe(s.cfg.Name, t),
		Category: tools.MCP, Effect: effectOf(t.Annotations), Untrusted: true,
	}
	spec.Schema = schemaOf(t.InputSchema)
	return &remote{server: s, name: t.Name, spec: spec, own: t == resourceTool}
}

func effectOf(a *sdk.ToolAnnotations) tools.Effect {
	switch {
	case a != nil && a.ReadOnlyHint:
		return tools.Reads
	case a != nil && a.OpenWorldHint != nil && !*a.OpenWorldHint && a.DestructiveHint != nil && !*a.DestructiveHint:
		return tools.Writes
	}
	return tools.Acts
}
