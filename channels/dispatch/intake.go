package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

const (
	fetchAtOnce = 8                 // files; a slow server keeps a few waiting, not all
	fetchLimit  = 150 * time.Second // of one file, all its tries and its transcript
	listPause   = time.Second       // before a list that could not be read is read again
)

// IntakeOptions are the parts of an Intake. Transcribe, MaxBytes and Log may
// be left out.
type IntakeOptions struct {
	// Fetchers get the files of a channel, by its name.
	Fetchers map[string]channels.MediaFetcher
	Arrivals *media.Arrivals
	Store    media.Store
	// MaxBytes bounds one file; 0 = any size.
	MaxBytes int64
	// Transcribe writes down what is said in a stored voice message. nil = only
	// the platforms' own transcripts.
	Transcribe func(ctx context.Context, file chat.Attachment) (string, error)
	Log        *slog.Logger // nil = silent
}

// Intake gets the files of messages into the media store. A message does not
// wait for its files: Wrap notes them durably and lets the message go on to
// its mailbox, so that a platform is acknowledged at once and a slow file
// holds up nothing; Run fetches them right after, because the platforms' links
// expire, and media.Arrivals.Await tells who reads the message what became of
// them.
type Intake struct{ opt IntakeOptions }

// NewIntake returns an Intake of these parts.
func NewIntake(o IntakeOptions) *Intake {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Intake{o}
}

// Wrap puts the noting of files before next: those of the message, and those of
// what it quotes. Every attachment that has to be fetched (a Source and no Ref),
// or written down, gets a Pending; one that is said to be too large is refused
// at once.
func (t *Intake) Wrap(next channels.Sink) channels.Sink {
	return func(ctx context.Context, in chat.Inbound) (err error) {
		if in.Attachments, err = t.note(ctx, &in, in.ID, in.Attachments); err != nil {
			return err
		}
		if in.ReplyTo != nil && len(in.ReplyTo.Attachments) > 0 {
			quote := *in.ReplyTo
			if quote.Attachments, err = t.note(ctx, &in, in.ID+quoted, quote.Attachments); err != nil {
				return err
			}
			in.ReplyTo = &quote
		}
		return next(ctx, in)
	}
}

// quoted, after a message's id, stands for the message that it quotes.
const quoted = "#quoted"

// note notes the files that come with in, under id.
func (t *Intake) note(ctx context.Context, in *chat.Inbound, id string, files []chat.Attachment) ([]chat.Attachment, error) {
	files = slices.Clone(files)
	for i, a := range files {
		e := media.Expected{Channel: in.Addr.Channel, File: a, Chinese: in.Language() == chat.Chinese, Trace: in.Trace}
		if !t.fetchable(e) && !t.speech(a) {
			continue
		}
		if t.opt.MaxBytes > 0 && a.Size > t.opt.MaxBytes {
			files[i].Failed = t.reason(errTooLarge, e.Chinese)
			continue
		}
		pending, err := t.opt.Arrivals.Expect(ctx, id, i, e)
		if err != nil {
			return nil, fmt.Errorf("note the files of %q: %w", in.ID, err)
		}
		files[i] = pending
	}
	return files, nil
}

// fetchable reports whether the bytes have to be got and can be.
func (t *Intake) fetchable(e media.Expected) bool {
	a := e.File
	return t.opt.Fetchers[e.Channel] != nil && a.Ref == "" && a.Source != "" && a.Failed == ""
}

// speech reports whether a file that is there, or will be, has to be written
// down.
func (t *Intake) speech(a chat.Attachment) bool {
	return t.opt.Transcribe != nil && a.Kind == chat.Voice && a.Text == "" && a.Ref != "" && a.Failed == ""
}

// Run fetches what was noted, by any process and at any time before, until ctx
// ends. What it could not finish by then is left for the next Run. One Run at
// a time is enough for all channels; a second one does the work twice.
func (t *Intake) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		var g errgroup.Group
		g.SetLimit(fetchAtOnce)
		err := t.opt.Arrivals.Work(ctx, func(key string, e media.Expected) {
			g.Go(func() error {
				t.receive(ctx, key, e)
				return nil
			})
		})
		_ = g.Wait() // the functions return nothing else
		if ctx.Err() == nil {
			t.opt.Log.WarnContext(ctx, "list of files to fetch is read again", "err", err)
			_ = sleep(ctx, listPause)
		}
	}
	return nil
}

// receive brings one file to its end, unless ctx ends first.
func (t *Intake) receive(ctx context.Context, key string, e media.Expected) {
	file := t.complete(ctx, e)
	if ctx.Err() != nil {
		return
	}
	if err := t.opt.Arrivals.Settle(ctx, key, file); err != nil && ctx.Err() == nil {
		t.opt.Log.ErrorContext(ctx, "outcome of a file was not stored", "channel", e.Channel, "trace", e.Trace, "err", err)
	}
}

// complete fetches the file and writes down what is said in it.
func (t *Intake) complete(parent context.Context, e media.Expected) chat.Attachment {
	ctx, cancel := context.WithTimeout(parent, fetchLimit)
	defer cancel()
	file := e.File
	err := errNoFetcher // unless it is there, or can be fetched
	switch {
	case file.Ref != "":
		err = nil
	case t.fetchable(e):
		err = t.tries(ctx, t.opt.Fetchers[e.Channel], &file)
	}
	if file.Failed = t.reason(err, e.Chinese); err == nil && t.speech(file) {
		if file.Text, err = t.opt.Transcribe(ctx, file); err != nil {
			file.Failed = unwritten(e.Chinese)
		}
	}
	if err != nil && parent.Err() == nil {
		t.opt.Log.WarnContext(ctx, "file was not received whole", "channel", e.Channel, "trace", e.Trace, "kind", file.Kind, "err", err)
	}
	return file
}
