package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"magpie/bus"
	"magpie/channels"
	"magpie/channels/all"
	"magpie/channels/dispatch"
	"magpie/chat"
	"magpie/config"
	"magpie/media"
	"magpie/media/oss"
)

func (p *program) files() *bus.Media { return p.bus.Media(p.cfg.Media.TTL) }

func (p *program) arrivals() *media.Arrivals {
	return media.NewArrivals(p.bus.Table("files"), p.cfg.Media.TTL)
}

// store is the media store in the words of package media.
type store struct{ *bus.Media }

func (s store) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	r, err := s.Media.Open(ctx, ref)
	if errors.Is(err, bus.ErrNoMedia) {
		return nil, fmt.Errorf("%w: %w", media.ErrNotFound, err)
	}
	return r, err
}

// shelf is where the agent finds the files of messages.
type shelf struct {
	store
	*media.Arrivals
}

// intake is the way of files from the channels into the media store.
func (d *doors) intake() *dispatch.Intake {
	fetchers := map[string]channels.MediaFetcher{}
	for _, door := range d.all {
		if f, ok := door.ch.(channels.MediaFetcher); ok {
			fetchers[door.cfg.Name] = f
		}
	}
	return dispatch.NewIntake(dispatch.IntakeOptions{
		Fetchers: fetchers, Arrivals: d.p.arrivals(), Store: store{d.p.files()},
		MaxBytes: d.p.cfg.Media.MaxBytes, Transcribe: d.p.transcribe(), Log: d.p.log,
	})
}

// transcribe writes down stored voice messages; nil when no server for it is
// configured.
func (p *program) transcribe() func(context.Context, chat.Attachment) (string, error) {
	c := p.cfg.Media.Transcribe
	if !c.Enabled() {
		return nil
	}
	t := media.NewTranscriber(media.TranscriberOptions{BaseURL: c.BaseURL, APIKey: c.APIKey, Model: c.Model})
	return func(ctx context.Context, a chat.Attachment) (string, error) {
		r, err := p.files().Open(ctx, a.Ref)
		if err != nil {
			return "", err
		}
		defer r.Close()
		return t.Transcribe(ctx, a.Name, a.MIME, r)
	}
}

// bucket is the place for files that platforms fetch; nil when none is
// configured.
func bucket(cfg *config.Config) (*oss.Bucket, error) {
	o := cfg.Media.OSS
	if !o.Enabled() {
		return nil, nil
	}
	return oss.New(oss.Options{
		Endpoint: o.Endpoint, Bucket: o.Bucket, AccessKeyID: o.AccessKeyID, AccessKeySecret: o.AccessKeySecret,
		CNAME: o.CNAME, Region: o.Region, Prefix: o.Prefix, PublicBaseURL: o.PublicBaseURL, URLTTL: o.URLTTL,
	})
}

// publish is channels.Deps.Public.
type publish = func(ctx context.Context, f channels.Upload) (url string, err error)

// Public is what channels.Deps.Public has to be: it puts files into the bucket
// of the configuration; nil when there is none. It makes no call.
func Public(cfg *config.Config) (func(ctx context.Context, f channels.Upload) (url string, err error), error) {
	b, err := bucket(cfg)
	if b == nil || err != nil {
		return nil, err
	}
	return func(ctx context.Context, f channels.Upload) (string, error) {
		return b.Put(ctx, oss.File{Name: f.Name, MIME: f.MIME, Open: f.Open})
	}, nil
}

// fetch gets the files of stored messages: one process does it for all.
func (d *doors) fetch(ctx context.Context) error {
	return d.p.bus.Hold(ctx, "files", d.files.Run, nil)
}

// largest says how large a file each channel takes. One that cannot be made
// here, such as one whose credentials another process has, is not known.
func largest(cfg *config.Config) func(channel string, kind chat.Kind) (int64, bool) {
	limits := map[string]map[chat.Kind]int64{}
	for _, c := range cfg.Channels {
		factory, ok := all.Registry()[c.Type]
		if !ok || !c.Enabled {
			continue
		}
		ch, err := factory(c.Name, c.Decode, channels.Deps{})
		if err != nil {
			continue
		}
		limits[c.Name] = nil
		if _, ok := ch.(channels.MediaSender); ok {
			limits[c.Name] = ch.Limits().Media
		}
	}
	return func(channel string, kind chat.Kind) (int64, bool) {
		most, known := limits[channel]
		return max(most[kind], most[chat.File]), known // what is too large for a picture goes as a file
	}
}
