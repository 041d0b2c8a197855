package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"magpie/agent/llm"
	"magpie/channels"
	"magpie/channels/all"
	"magpie/config"
	"magpie/internal/kv"
	"magpie/media/oss"
)

// Finding is what one check of the doctor came to.
type Finding struct {
	Check string `json:"check"` // what was looked at: "store", "channel telegram"
	OK    bool   `json:"ok"`
	// Skipped: it could not be looked at, so it is neither OK nor Bad.
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`             // what was found
	Todo    string `json:"advice,omitempty"` // what to do when it is Bad
	// Chinese is Todo for those whom init asks in Chinese.
	Chinese string `json:"-"`
	// Refused: a service was reached and does not take the credentials.
	Refused bool `json:"-"`
}

// Bad says whether something has to be done.
func (f Finding) Bad() bool { return !f.OK && !f.Skipped }

// CheckStore is the operation that proves the store.
const CheckStore = "store.check"

// examineWait bounds one check: a bucket's is three calls over a slow line.
const examineWait = 60 * time.Second

// exam is one check. It returns what was found; an error says what is wrong,
// and what to do if it has a method Advice() string.
type exam struct {
	name string
	run  func(ctx context.Context) (found string, err error)
}

// Examine makes every check that needs no store and no running bot, side by
// side; it calls the services that are configured. The findings stand in the
// order of the configuration.
func Examine(ctx context.Context, cfg *config.Config) []Finding {
	giveBack, err := borrow(cfg) // checks make the workspace, and what MCP servers make
	if err != nil {
		return []Finding{{Check: "data folder", Text: err.Error(), Todo: "correct what the text names"}}
	}
	findings := examine(ctx, cfg)
	if err := giveBack(); err != nil {
		findings = append(findings, Finding{Check: "owner of files", Text: err.Error(), Todo: "give data_dir to the bot's user by chown -R"})
	}
	return findings
}

func examine(ctx context.Context, cfg *config.Config) []Finding {
	exams := []exam{
		{"data folder", func(context.Context) (string, error) { return dataFolder(cfg) }},
		{"disk space", func(context.Context) (string, error) { return examineDisk(cfg) }},
		{"memory", examineMemory},
		{"store files", func(context.Context) (string, error) { return examineDamage(cfg) }},
		{"zone", func(context.Context) (string, error) { return examineZone(cfg) }},
	}
	clocks := &clocks{}
	for _, c := range cfg.Channels {
		if c.Enabled {
			exams = append(exams, channelExam(cfg, c, clocks.client(c.Proxy)))
		}
	}
	for _, m := range cfg.LLM.Models {
		exams = append(exams, modelExam(m, clocks.client(m.Proxy)))
	}
	exams = append(exams, exam{"oss", func(ctx context.Context) (string, error) { return examineBucket(ctx, cfg) }})
	exams = append(exams, toolExams(cfg)...)
	findings := make([]Finding, len(exams))
	var wait sync.WaitGroup
	for i, e := range exams {
		wait.Go(func() { findings[i] = e.finding(ctx) })
	}
	wait.Wait()
	clock := exam{"clock", func(context.Context) (string, error) { return clocks.examine() }}
	return append(findings, clock.finding(ctx))
}

func (e exam) finding(ctx context.Context) Finding {
	ctx, cancel := context.WithTimeout(ctx, examineWait)
	defer cancel()
	found, err := e.guarded(ctx)
	if err == nil {
		return Finding{Check: e.name, OK: true, Text: found}
	}
	f := Finding{Check: e.name, Text: err.Error(), Todo: "correct what the text names", Chinese: "按上面的说明改正"}
	f.Refused = channels.KindOf(err) == channels.Unauthorized || llm.KindOf(err) == llm.Unauthorized
	if _, f.Skipped = errors.AsType[*unseen](err); f.Skipped {
		f.Todo, f.Chinese = "", ""
		return f
	}
	var wise interface{ Advice() string }
	if errors.As(err, &wise) {
		f.Todo = wise.Advice()
	}
	if both, ok := errors.AsType[*remedied](err); ok {
		f.Chinese = both.todo.Chinese
	}
	return f
}

func channelExam(cfg *config.Config, c config.Channel, client *http.Client) exam {
	public, _ := Public(cfg) // the bucket's own check says what is wrong with it
	return exam{"channel " + c.Name, func(ctx context.Context) (string, error) {
		return examineChannel(ctx, c, channels.Deps{Public: public, HTTP: client})
	}}
}

func modelExam(m config.Model, client *http.Client) exam {
	return exam{"model " + m.Name, func(ctx context.Context) (string, error) { return examineModel(ctx, m, client) }}
}

// ExamineChannel is the check of one channel of the configuration.
func ExamineChannel(ctx context.Context, cfg *config.Config, name string) Finding {
	for _, c := range cfg.Channels {
		if c.Name == name {
			return channelExam(cfg, c, (&clocks{}).client(c.Proxy)).finding(ctx)
		}
	}
	return Finding{Check: "channel " + name, Text: "there is no such channel"}
}

// ExamineModel is the check of one model.
func ExamineModel(ctx context.Context, m config.Model) Finding {
	return modelExam(m, (&clocks{}).client(m.Proxy)).finding(ctx)
}

// guarded is run; a panic, in an SDK for example, is the finding of this check.
func (e exam) guarded(ctx context.Context) (found string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return e.run(ctx)
}

// advised is an error with what to do about it.
type advised struct {
	error
	todo string
}

func (a *advised) Advice() string { return a.todo }
func (a *advised) Unwrap() error  { return a.error }

// unseen is why something could not be looked at.
type unseen struct{ why string }

func (u *unseen) Error() string { return u.why }

// examineChannel proves a channel's credentials by a call to its platform.
func examineChannel(ctx context.Context, c config.Channel, deps channels.Deps) (string, error) {
	make, ok := all.Registry()[c.Type]
	if !ok {
		return "", c.Errorf("type", "there is no channel of type %q", c.Type)
	}
	deps.Table = &kv.Memory{}
	ch, err := make(c.Name, c.Decode, deps)
	if err != nil {
		return "", fmt.Errorf("channel %s: %w", c.Name, err)
	}
	checker, ok := ch.(channels.Checker)
	if !ok {
		return "needs no credentials", nil
	}
	if err := checker.Check(ctx); err != nil {
		return "", &remedied{err, channelTodo(c, channels.KindOf(err))}
	}
	found := "the platform accepts the bot"
	surveyor, ok := ch.(channels.Surveyor)
	if !ok {
		return found, nil
	}
	lacks, err := surveyor.Survey(ctx)
	if err != nil {
		lacks = append(lacks, "what it may do there could not be looked at: "+err.Error())
	}
	return strings.Join(append([]string{found}, lacks...), "\n- "), nil
}

// examineBucket proves the bucket by a put, a signed get and a deletion.
func examineBucket(ctx context.Context, cfg *config.Config) (string, error) {
	b, err := bucket(cfg)
	switch {
	case err != nil:
		return "", &advised{err, "correct media.oss"}
	case b == nil:
		return "not configured: QQ gets files as base64", nil
	}
	if err := b.Check(ctx); err != nil {
		return "", err
	}
	return "put, signed get and delete in " + cfg.Media.OSS.Bucket + " work", nil
}

var _ interface{ Advice() string } = (*oss.Error)(nil)

// StoreState is what CheckStore finds when the store can be used.
type StoreState struct {
	Notes []string `json:"notes,omitempty"` // what should be different all the same
}

// checkStore proves that the bus can be used.
func checkStore(ctx context.Context, s state, _ json.RawMessage) (any, error) {
	return StoreState{Notes: s.bus.Notes()}, s.bus.Health(ctx)
}
