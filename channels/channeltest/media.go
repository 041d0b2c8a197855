package channeltest

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"

	"magpie/channels"
	"magpie/chat"
)

// picture is a small valid PNG.
func picture() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 16, 16))) // a Buffer takes everything
	return b.Bytes()
}

func samples() []File {
	return []File{
		{Kind: chat.File, Name: "notes 笔记.txt", MIME: "text/plain", Data: bytes.Repeat([]byte("line\n"), 40_000)},
		{Kind: chat.Image, Name: "dot.png", MIME: "image/png", Data: picture()},
	}
}

func (r *rig) filesIn() {
	run := r.start()
	f, ok := run.Channel.(channels.MediaFetcher)
	r.need(ok, "Fetch")
	text := "see"
	if r.h.Ways.Bare {
		text = ""
	}
	for i, file := range samples() {
		r.h.Say(r.t, Said{At: r.h.Direct[0], Text: text, Files: []File{file}})
		in := run.await(i + 1)[i]
		if len(in.Attachments) != 1 || in.Text != text {
			r.t.Fatalf("%s: text %q, attachments %+v", file.Name, in.Text, in.Attachments)
		}
		a := in.Attachments[0]
		if a.Kind != file.Kind || a.Source == "" {
			r.t.Errorf("%s: attachment %+v", file.Name, a)
		}
		if got := r.fetch(f, a); !bytes.Equal(got, file.Data) {
			r.t.Errorf("%s: %d bytes came, %d were sent", file.Name, len(got), len(file.Data))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := f.Fetch(ctx, chat.Attachment{Kind: chat.File, Source: "no-such-file"})
	r.note(err)
	if err == nil {
		r.t.Error("fetching what is not there succeeded")
	}
}

func (r *rig) fetch(f channels.MediaFetcher, a chat.Attachment) []byte {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body, err := f.Fetch(ctx, a)
	if err != nil {
		r.note(err)
		r.t.Fatalf("fetch %+v: %v", a, err)
	}
	data, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		r.t.Fatalf("read %+v: %v", a, err)
	}
	return data
}

func upload(f File) channels.Upload {
	return channels.Upload{
		Attachment: chat.Attachment{Kind: f.Kind, Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data))},
		Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(f.Data)), nil
		},
	}
}

func (r *rig) filesOut() {
	run := r.start()
	m, ok := run.Channel.(channels.MediaSender)
	r.need(ok, "SendMedia")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	caption := ""
	if run.Limits().Caption > 0 {
		caption = "look 看"
	}
	for i, file := range samples() {
		msg := outbound(r.h.Direct[0], caption)
		msg.ID += file.Name // another message, not a repeat
		refs, err := m.SendMedia(ctx, msg, []channels.Upload{upload(file)})
		if err != nil || len(refs) != 1 {
			r.t.Fatalf("%s: %v, %v", file.Name, refs, err)
		}
		shown := r.h.Shown(r.t, r.h.Direct[0])
		if len(shown) != i+1 || len(shown[i].Files) != 1 {
			r.t.Fatalf("the chat shows %d messages: %+v", len(shown), shown)
		}
		got := shown[i].Files[0]
		if got.Kind != file.Kind || !bytes.Equal(got.Data, file.Data) || shown[i].Text != caption {
			r.t.Errorf("%s: came as %s %q with %d bytes, caption %q", file.Name, got.Kind, got.Name, len(got.Data), shown[i].Text)
		}
	}
	r.album(ctx, run, m)
}

func (r *rig) album(ctx context.Context, run *runner, m channels.MediaSender) {
	r.t.Helper()
	n := min(run.Limits().Album, 3)
	if n < 2 {
		return
	}
	var files []channels.Upload
	for range n {
		files = append(files, upload(samples()[1]))
	}
	if _, err := m.SendMedia(ctx, outbound(r.h.Direct[1], ""), files); err != nil {
		r.t.Fatal(err)
	}
	sum := 0
	for _, s := range r.h.Shown(r.t, r.h.Direct[1]) {
		sum += len(s.Files)
	}
	if sum != n {
		r.t.Errorf("an album of %d files shows %d", n, sum)
	}
}

func (r *rig) badFile() {
	run := r.start()
	m, ok := run.Channel.(channels.MediaSender)
	r.need(ok, "SendMedia")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	broken, caption := errors.New("disk is gone"), ""
	if run.Limits().Caption > 0 {
		caption = "see"
	}
	for name, open := range map[string]func(context.Context) (io.ReadCloser, error){
		"open": func(context.Context) (io.ReadCloser, error) { return nil, broken },
		"read": func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 100_000)), failing{broken})), nil
		},
	} {
		f := upload(samples()[0])
		f.Open = open
		_, err := m.SendMedia(ctx, outbound(r.h.Direct[0], caption), []channels.Upload{f})
		r.note(err)
		if err == nil {
			r.t.Errorf("%s: no error", name)
		}
	}
	if shown := r.h.Shown(r.t, r.h.Direct[0]); len(shown) != 0 {
		r.t.Errorf("the chat shows %+v", shown)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
