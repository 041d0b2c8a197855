package app_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/oss"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// TestFiveFilesIn: on every platform a picture reaches the model as a picture,
// a voice message as text, written down by the platform or by the server for
// that, and a document as a file in the inbox.
func TestFiveFilesIn(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	f.models = ", vision: true"
	f.extra = fmt.Sprintf("media: {transcribe: {base_url: %s, api_key: sk-test, model: whisper-1}}", f.model.OpenAI())
	f.model.Hear(func(r modelserver.Recording) modelserver.Answer {
		if !bytes.Contains(r.Data, []byte("spoken")) {
			t.Errorf("a recording of %q was to be written down", r.Data)
		}
		return modelserver.Answer{Text: "written down by the server"}
	})
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		last := r.Messages[len(r.Messages)-1]
		return modelserver.Answer{Text: fmt.Sprintf("%d pictures. %s", last.Images, last.Text)}
	})
	b := f.start()
	f.each(func(p side) {
		chat := p.join(0)
		p.say(chat, "看这个 look", sentFile{kind: "image", name: "a.png", mime: "image/png", data: photo(t).Data})
		f.wait(p, chat, "the picture", func(all []line) bool {
			return len(all) == 1 && strings.Contains(all[0].text, "1 pictures") && strings.Contains(all[0].text, "看这个 look")
		})

		p.say(chat, "", sentFile{kind: "voice", name: "v.ogg", mime: "audio/ogg", data: []byte("OggS\x00\x02spoken"), words: "说的话 by the platform"})
		words := "written down by the server"
		if p.name() == "dingtalk" || p.name() == "qq" {
			words = "说的话 by the platform"
		}
		f.wait(p, chat, "what was said", func(all []line) bool { return len(all) == 2 && strings.Contains(all[1].text, words) })

		p.say(chat, "", sentFile{kind: "file", name: "报告.txt", mime: "text/plain", data: []byte("document of " + p.name())})
		f.wait(p, chat, "the document", func(all []line) bool { return len(all) == 3 && strings.Contains(all[2].text, "报告.txt") })
		if got := f.inbox("报告"); !got["document of "+p.name()] {
			t.Errorf("%s: the inbox holds %v", p.name(), got)
		}
	})
	if n := len(f.model.Recordings()); n != 3 {
		t.Errorf("%d recordings were written down by the server, want 3", n)
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// inbox is what the files of the inbox hold whose names begin so.
func (f *five) inbox(name string) map[string]bool {
	f.t.Helper()
	paths, err := filepath.Glob(filepath.Join(f.dir, "workspace", "inbox", "*", name+"*"))
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]bool{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.t.Fatal(err)
		}
		held[string(data)] = true
	}
	return held
}

// TestFiveFilesOut: what the model sends arrives on every platform byte by
// byte; QQ fetches it from a private bucket by a signed URL, or gets it in the
// request.
func TestFiveFilesOut(t *testing.T) {
	for _, bucket := range []bool{false, true} {
		t.Run(fmt.Sprintf("bucket=%v", bucket), func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{})
			store := oss.New(nil)
			if bucket {
				f.extra = f.bucket(store)
			}
			picture := photo(t).Data
			pdf := []byte("%PDF-1.7\n" + strings.Repeat("文", 5000))
			f.workspace(map[string][]byte{"图.png": picture, "报告.pdf": pdf})
			f.model.Reply(sendsFiles("图.png", "报告.pdf"))
			b := f.start()
			f.each(func(p side) {
				chat := p.join(0)
				p.say(chat, "send them")
				shown := f.wait(p, chat, "both files", func(all []line) bool {
					return holding(all, "result:") == 1 && len(filesOf(all)) == 2
				})
				for _, got := range filesOf(shown) {
					if !bytes.Equal(got.data, picture) && !bytes.Equal(got.data, pdf) {
						t.Errorf("%s shows a file %q of %d bytes", p.name(), got.name, len(got.data))
					}
					if bytes.Equal(got.data, pdf) && got.name != "报告.pdf" {
						t.Errorf("%s shows the document as %q", p.name(), got.name)
					}
				}
			})
			if got, want := len(store.Objects()), map[bool]int{false: 0, true: 2}[bucket]; got != want {
				t.Errorf("the bucket holds %d objects, want %d", got, want)
			}
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// bucket serves a private bucket and returns the configuration for it.
func (f *five) bucket(store *oss.Server) string {
	srv := httptest.NewServer(store.Handler())
	f.t.Cleanup(func() { store.Close(); srv.Close() })
	o := store.Options()
	return fmt.Sprintf("media: {oss: {endpoint: %s, bucket: %s, access_key_id: %s, access_key_secret: %s, region: %s}}", srv.URL, o.Bucket, o.KeyID, o.KeySecret, o.Region)
}

func (f *five) workspace(files map[string][]byte) {
	f.t.Helper()
	dir := filepath.Join(f.dir, "workspace")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

// sendsFiles has the model send files, and say then what came of it.
func sendsFiles(paths ...string) func(modelserver.Request) modelserver.Answer {
	return func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "result: " + res[len(res)-1].Text}
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "send_media", Args: fmt.Sprintf(`{"file_paths": [%s]}`, `"`+strings.Join(paths, `","`)+`"`)}}}
	}
}

func filesOf(all []line) (files []shownFile) {
	for _, l := range all {
		files = append(files, l.files...)
	}
	return files
}

// TestFiveRefusedFile: what a platform does not take is named in the chat.
func TestFiveRefusedFile(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	f.workspace(map[string][]byte{"报告.pdf": []byte("%PDF-1.7\n")})
	f.model.Reply(sendsFiles("报告.pdf"))
	b := f.start()
	f.tg.Fail(telegram.Fault{Method: "sendDocument", Times: 2, Code: 400, Text: "Bad Request: FILE_REFUSED"})
	f.dc.Fail(discord.Fault{Times: 2, Status: 400, Code: 50035, Text: "Invalid Form Body"})
	f.fs.Fail(feishu.Fault{Times: 2, Op: "file", Code: 234006, Msg: "The file size exceed the max value."})
	f.dt.Fail(dingtalk.Fault{Times: 2, Op: dingtalk.OpUpload, Errcode: 40009, Message: "不合法的媒体文件大小"})
	f.qq.Fail(qq.Fault{Times: 2, Op: "files", Status: 400, Code: 850012, Text: "file size exceeds limit"})
	f.each(func(p side) {
		chat := p.join(0)
		p.say(chat, "send it")
		shown := f.wait(p, chat, "the file is named, and the answer is there", func(all []line) bool { return holding(all, "result:") == 1 && len(all) == 2 })
		if holding(shown[:1], "报告.pdf") != 1 || holding(shown[:1], "the platform refused the file") != 1 || len(filesOf(shown)) != 0 {
			t.Errorf("%s shows %q", p.name(), shown)
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}
