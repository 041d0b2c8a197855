package app_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// photo is a picture as a phone sends it.
func photo(t testing.TB) telegram.File {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 20, 20))); err != nil {
		t.Fatal(err)
	}
	return telegram.File{Kind: "photo", Data: b.Bytes()}
}

// TestKilledBeforeTheDownload: a message is stored and acknowledged while its
// file hangs, the program is killed or stopped, and the next one fetches the
// file and answers with it, once.
func TestKilledBeforeTheDownload(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.models = fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted, vision: true}]", w.model.OpenAI())
			b := w.start("bot")
			b.ready()
			w.tg.Fail(telegram.Fault{Method: "getFile"}) // hangs
			w.tg.Say(telegram.Said{From: owner, Text: "what is this?", Files: []telegram.File{photo(t)}})
			b.until("download begun", func() bool { return w.tg.Calls("getFile") > 0 }, func() string { return "no getFile" })
			w.stored(b) // although the file is not there
			if n := w.model.Count(); n > 0 {
				t.Fatalf("the model was asked %d times without the file", n)
			}
			if err := b.signal(sig); sig == syscall.SIGTERM {
				clean(t, err)
			}
			w.start("bot").ready()
			msgs := w.wait(owner, "answer", func(m []telegram.Message) bool { return len(m) > 0 })
			requests := w.model.Requests()
			if len(requests) != 1 || pictures(requests[0]) != 1 || len(msgs) != 1 {
				t.Errorf("%d requests, %d answers: %v", len(requests), len(msgs), requests)
			}
		})
	}
}

func pictures(r modelserver.Request) (n int) {
	for _, m := range r.Messages {
		n += m.Images
	}
	return n
}

// TestSlowFileHoldsUpNothing: /stop and other chats get through while a file
// hangs, and the next message of the chat belongs to the same turn.
func TestSlowFileHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	b := w.start("bot")
	b.ready()
	w.tg.AddPerson(telegram.Person{ID: 2, Name: "Bob"})
	w.tg.Fail(telegram.Fault{Method: "getFile"})
	w.tg.Say(telegram.Said{From: owner, Text: "look", Files: []telegram.File{photo(t)}})
	b.until("download begun", func() bool { return w.tg.Calls("getFile") > 0 }, func() string { return "no getFile" })
	w.tg.Say(telegram.Said{From: 2, Text: "quick question"})
	w.wait(2, "answer of another chat", func(m []telegram.Message) bool { return count(m, "quick question") == 1 })
	w.say("/stop")
	w.wait(owner, "stopped", func(m []telegram.Message) bool { return len(m) == 1 })
	w.say("go on")
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "go on") == 1 })
	requests := w.model.Requests()
	if got := requests[len(requests)-1].Messages[0].Text; !strings.Contains(got, "has not arrived yet") {
		t.Errorf("the stopped message reads %q", got)
	}
}

// TestVoiceIsWrittenDown: a voice message reaches the model as text, or, when
// the server for that fails, as a file that says so.
func TestVoiceIsWrittenDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.model.RequireKey("sk-test")
	w.extra = fmt.Sprintf("media: {transcribe: {base_url: %s, api_key: sk-test, model: whisper-1}}", w.model.OpenAI())
	w.model.Hear(func(r modelserver.Recording) modelserver.Answer {
		if bytes.Contains(r.Data, []byte("noise")) {
			return modelserver.Answer{Status: 400}
		}
		return modelserver.Answer{Text: "明天提醒我 call mum"}
	})
	w.start("bot").ready()
	say := func(data string) {
		w.tg.Say(telegram.Said{From: owner, Files: []telegram.File{{Kind: "voice", MIME: "audio/ogg", Data: []byte("OggS\x00\x02" + data)}}})
	}
	say("words")
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "明天提醒我 call mum") == 1 })
	if got := w.model.Requests()[0].LastUser(); !strings.Contains(got, "transcript of a voice message") {
		t.Errorf("the model is told %q", got)
	}
	say("noise")
	w.wait(owner, "second answer", func(m []telegram.Message) bool { return len(m) == 2 })
	if got := w.model.Requests()[1].LastUser(); !strings.Contains(got, "the speech could not be written down") || !strings.Contains(got, "saved as inbox/") {
		t.Errorf("the model is told %q", got)
	}
}

// TestFilesGoOut: send_media brings files to the chat as what they are, and a
// path that cannot be sent is named to the model.
func TestFilesGoOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	b := w.start("bot")
	b.ready()
	for name, data := range map[string][]byte{"chart.png": photo(t).Data, "数据.csv": []byte("a,b\n1,2\n")} {
		if err := os.WriteFile(w.data("workspace", name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.calls(map[string]modelserver.Call{"send": {
		Name: "send_media", Args: `{"file_paths": ["chart.png", "数据.csv", "missing.pdf"], "message": "图表 and data"}`,
	}})
	w.say("send")
	msgs := w.wait(owner, "two files and the answer", func(m []telegram.Message) bool { return len(m) == 3 })
	kinds := map[string]telegram.Message{}
	for _, m := range msgs {
		kinds[m.Kind] = m
	}
	doc := kinds["document"]
	if kinds["photo"].Text != "图表 and data" || doc.File == nil || doc.File.Name != "数据.csv" || string(doc.File.Data) != "a,b\n1,2\n" {
		t.Errorf("the chat shows %+v", msgs)
	}
	if got := kinds["text"].Text; !strings.Contains(got, "sent to this chat: chart.png") || strings.Contains(got, "handed over") || !strings.Contains(got, "missing.pdf") {
		t.Errorf("the model is told %q", got)
	}
}

// TestRefusedFileIsNamedInTheChat: what the platform does not take is said to
// the people in the chat, and so is what it does not give.
func TestRefusedFileIsNamedInTheChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.start("bot").ready()
	if err := os.WriteFile(w.data("workspace", "report.pdf"), []byte("%PDF-1.7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.tg.Fail(telegram.Fault{Method: "sendDocument", Times: 2, Code: 400, Text: "Bad Request: FILE_REFUSED"})
	w.calls(map[string]modelserver.Call{"send": {Name: "send_media", Args: `{"file_paths": ["report.pdf"]}`}})
	w.say("send")
	w.wait(owner, "the file is named", func(m []telegram.Message) bool { return count(m, "report.pdf: the platform refused the file") == 1 })
	w.tg.Fail(telegram.Fault{Method: "getFile", Code: 400, Text: "Bad Request: file is too big"})
	w.tg.Say(telegram.Said{From: owner, Text: "look at this", Files: []telegram.File{photo(t)}})
	w.wait(owner, "the missing picture is named", func(m []telegram.Message) bool { return count(m, "could not be received") == 1 })
}

// TestPicturesReachBothKindsOfModels: photos and pictures sent as files, of
// any size and kind, are shown in a form that the vendors take; the strict
// fake refuses others.
func TestPicturesReachBothKindsOfModels(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			base := map[string]string{"openai": w.model.OpenAI(), "anthropic": w.model.URL()}[provider]
			w.models = fmt.Sprintf("[{name: main, provider: %s, base_url: %s, api_key: sk-test, model: scripted, vision: true}]", provider, base)
			w.start("bot").ready()
			var big, moving bytes.Buffer
			if err := png.Encode(&big, image.NewNRGBA(image.Rect(0, 0, 3000, 1000))); err != nil {
				t.Fatal(err)
			}
			frame := image.NewPaletted(image.Rect(0, 0, 30, 20), color.Palette{color.Black, color.White})
			if err := gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{10, 10}}); err != nil {
				t.Fatal(err)
			}
			for i, f := range []struct {
				file  telegram.File
				shown bool
			}{
				{telegram.File{Kind: "photo", Data: big.Bytes()}, true},
				{telegram.File{Name: "big.png", MIME: "image/png", Data: big.Bytes()}, true},
				{telegram.File{Name: "moving.gif", MIME: "image/gif", Data: moving.Bytes()}, true},
				{telegram.File{Name: "broken.png", MIME: "image/png", Data: big.Bytes()[:100]}, false},
			} {
				w.tg.Say(telegram.Said{From: owner, Text: "look", Files: []telegram.File{f.file}})
				w.wait(owner, "answer", func(m []telegram.Message) bool { return len(m) == i+1 })
				r := w.model.Requests()[i]
				if n := r.Messages[len(r.Messages)-1].Images; (n == 1) != f.shown {
					t.Errorf("%s %s: %d pictures shown; the model is told %q", f.file.Kind, f.file.Name, n, r.LastUser())
				}
				if !f.shown && !strings.Contains(r.LastUser(), "not shown") {
					t.Errorf("%s: the model is told %q", f.file.Name, r.LastUser())
				}
			}
		})
	}
}
