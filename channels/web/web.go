// Package web is the chat page as a channel: the same contract as any
// platform, with the "platform" being a page and an HTTP API that this package
// serves itself. It does not log anybody in: internal/console wraps Handler
// and lets only holders of the token through, so whoever gets here is the
// owner. Tabs run on the goroutines of their HTTP requests; Run waits for what
// they hand to the sink, and ends their streams when it ends.
//
// # API
//
// {chat}, and every id a client makes, is 1 to 64 characters of A–Z a–z 0–9 _ -.
//
//	GET    /api/chat/chats                         {"chats":[{id,title,at}],"limits":{"text","file","files"}}
//	DELETE /api/chat/chats/{chat}                  forgets what the page shows of a conversation
//	POST   /api/chat/chats/{chat}/messages         {"id","text","files":["<file id>"],"lang"}
//	POST   /api/chat/chats/{chat}/press            {"id","message","data","lang"}
//	POST   /api/chat/chats/{chat}/files?name=      body: the bytes → {id,kind,name,mime,size}
//	GET    /api/chat/files/{id}                    the bytes
//	GET    /api/chat/chats/{chat}/events           server-sent events
//
// "id" is made by the client and stays the same when it tries again: a
// repeated POST is one message. POST answers 200 {"id","at"} only after the
// message is durably stored, 503 when it was not and should be sent again,
// other codes with {"error"} when trying again is useless.
//
// The stream resumes after the revision given as Last-Event-ID or ?after=;
// ?format=text leaves rendered HTML out. Its events:
//
//	message  {id,pos,role,at,text,html,files,buttons,turn,final}: new or changed; order by pos; carries an event id
//	gone     {id}: a message was removed
//	live     {turn,busy,text|html,tool:{name,state},line,notice:{press,text},n}: what goes on now, whole, replaces the last
//	chat     {id,title,at,gone}: the list of conversations changed; at most once a second
//	reset    {}: forget the messages shown, all come again
//	sync     {} or {ids}: everything that was stored has been sent; to a stream that resumed, the ids of all messages there are
//	ping     {}: nothing happened for a while
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	// maxText is the largest message in bytes, in either direction: the page
	// is no platform with a small limit, but a value of the table has one.
	maxText = 256 << 10
	// maxFiles is how many files one message may carry.
	maxFiles = 10
	// storeWait bounds one visit to the store or the sink, seconds.
	storeWait = 10 * time.Second
	// typingFor is how long one Typing call is shown: two fit into busyFor.
	typingFor = 7 * time.Second
)

// Web is the chat page. It implements channels.Channel, Typer, Editor,
// Deleter, MediaSender, MediaFetcher and Buttoner.
type Web struct {
	name    string
	cfg     Config
	log     *slog.Logger
	now     func() time.Time
	status  *channels.Status
	history *history
	files   *files
	live    *live
	feed    *feed
	md      markdown

	mu  sync.Mutex
	run *session // nil while Run is not running
}

// session is one call of Run.
type session struct {
	sink    channels.Sink
	onEnd   func(f func()) (stop func() bool) // calls f when Run is to end
	working sync.WaitGroup                    // calls of sink
}

var (
	_ channels.Channel      = (*Web)(nil)
	_ channels.Typer        = (*Web)(nil)
	_ channels.Editor       = (*Web)(nil)
	_ channels.Deleter      = (*Web)(nil)
	_ channels.MediaSender  = (*Web)(nil)
	_ channels.MediaFetcher = (*Web)(nil)
	_ channels.Buttoner     = (*Web)(nil)
	_ channels.Factory      = New
)

// New makes the channel; the result is a *Web. It needs d.Table.
func New(name string, decode func(any) error, d channels.Deps) (channels.Channel, error) {
	cfg := defaults()
	if decode != nil {
		if err := decode(&cfg); err != nil {
			return nil, err
		}
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("channel %q: %w", name, err)
	}
	if d.Table == nil {
		return nil, fmt.Errorf("channel %q: no table to keep conversations in", name)
	}
	d = d.Complete()
	return &Web{
		name: name, cfg: cfg, log: d.Log, now: d.Now, status: d.Status,
		history: &history{
			table: d.Table, now: d.Now, chats: map[string]*conversation{},
			keep: bounds{messages: cfg.KeepMessages, bytes: maxLogBytes, age: cfg.KeepFor},
		},
		files: &files{table: d.Table, max: cfg.MaxUpload, age: min(cfg.KeepFor, filesFor)},
		live:  &live{now: d.Now, rooms: map[string]*room{}},
		feed:  &feed{table: d.Table},
		md:    newMarkdown(),
	}, nil
}

// Name implements channels.Channel.
func (w *Web) Name() string { return w.name }

// Limits implements channels.Channel. Edit is 0: the page shows a reply while
// it is written from Event, without messages to be edited.
func (w *Web) Limits() channels.Limits {
	size := w.cfg.MaxUpload
	return channels.Limits{
		Text: maxText, Caption: maxText,
		Size: func(md string) int { return len(md) },
		Media: map[chat.Kind]int64{
			chat.Image: size, chat.Audio: size, chat.Voice: size,
			chat.Video: size, chat.File: size, chat.Sticker: size,
		},
		// A repeat finds the message for as long as it is kept.
		Album: maxFiles, Typing: typingFor, Resend: true, RepeatKnown: w.cfg.KeepFor,
	}
}

// Run implements channels.Channel: while it runs, the API takes messages.
func (w *Web) Run(ctx context.Context, sink channels.Sink) error {
	s := &session{sink: sink, onEnd: func(f func()) func() bool { return context.AfterFunc(ctx, f) }}
	w.mu.Lock()
	if w.run != nil {
		w.mu.Unlock()
		return w.fail("run", channels.Rejected, errors.New("it is running already"))
	}
	w.run = s
	w.mu.Unlock()
	w.status.Connected()
	<-ctx.Done()
	w.mu.Lock()
	w.run = nil
	w.mu.Unlock()
	s.working.Wait()
	return nil
}

// begin enters the running session, or reports false. The caller calls leave.
func (w *Web) begin() (s *session, leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.run == nil {
		return nil, nil, false
	}
	w.run.working.Add(1)
	return w.run, w.run.working.Done, true
}

// Event shows what happens in a turn: the reply while it is written, tools,
// who is at work. It never blocks; events of other channels are ignored.
func (w *Web) Event(ev chat.Event) {
	if ev.Addr.Channel == w.name && validID(ev.Addr.Chat) && ev.Kind != chat.MessageSent {
		w.live.event(ev)
	}
}

// Fetch implements channels.MediaFetcher for uploads and for files that were
// sent: Source is the file's id.
func (w *Web) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	f, err := w.files.get(ctx, a.Source)
	if err != nil {
		return nil, w.storeError("fetch", err)
	}
	return w.files.open(ctx, f), nil
}

func (w *Web) fail(op string, kind channels.Kind, err error) error {
	return &channels.Error{Channel: w.name, Op: op, Kind: kind, Err: err}
}

func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
