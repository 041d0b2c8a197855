package console_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"magpie/channels"
	"magpie/channels/web"
	"magpie/chat"
)

// sound is a second of silence.
func sound() []byte {
	const rate = 8000
	var b bytes.Buffer
	b.WriteString("RIFF")
	_ = binary.Write(&b, binary.LittleEndian, uint32(36+rate)) // a buffer takes everything
	b.WriteString("WAVEfmt ")
	_ = binary.Write(&b, binary.LittleEndian, struct {
		Size             uint32
		Format, Channels uint16
		Rate, Bytes      uint32
		Align, Bits      uint16
		Data             [4]byte
		Length           uint32
	}{16, 1, 1, rate, rate, 1, 8, [4]byte{'d', 'a', 't', 'a'}, rate})
	b.Write(bytes.Repeat([]byte{128}, rate))
	return b.Bytes()
}

// Files are shown, heard, opened and saved, although what the browser asks for
// by itself carries no key.
func TestPageFiles(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 240, 120))); err != nil {
		t.Fatal(err)
	}
	b := newBot(t, func(w *web.Web, in chat.Inbound) {
		var files []channels.Upload
		for _, f := range []struct {
			name string
			data []byte
		}{{"dot.png", picture.Bytes()}, {"quiet.wav", sound()}, {"notes & 笔记.html", []byte("<script>document.title='owned'</script>")}} {
			files = append(files, channels.Upload{Attachment: chat.Attachment{Name: f.name}, Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(f.data)), nil
			}})
		}
		if _, err := w.SendMedia(context.Background(), chat.Outbound{Meta: chat.Meta{ID: "f" + in.ID, Addr: in.Addr}}, files); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	br.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir})
		return err
	}))
	br.say("files")
	br.Until("document.querySelector('.message.bot .picture img')?.naturalWidth === 240")
	br.Until("document.querySelector('.message.bot audio')?.duration === 1")
	br.Eval("document.querySelector('.message.bot .card').click()")
	saved := filepath.Join(dir, "notes & 笔记.html")
	for deadline := time.Now().Add(time.Minute); ; {
		if data, err := os.ReadFile(saved); err == nil && strings.Contains(string(data), "owned") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("nothing was saved: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
	br.Eval("document.querySelector('.message.bot .picture').click()")
	opened := func() (at string) {
		br.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			all, err := cdp.Call(ctx, t, target.GetTargets, target.GetTargetsParams{})
			if err != nil {
				return err
			}
			for _, info := range all.TargetInfos {
				if strings.HasPrefix(info.URL, "blob:"+b.url) {
					at = info.URL
				}
			}
			return nil
		}))
		return at
	}
	for deadline := time.Now().Add(time.Minute); opened() == ""; {
		if time.Now().After(deadline) {
			t.Fatal("the picture does not open")
		}
	}
	br.quiet(b.url)
}
