package app_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
	"magpie/config"
	"magpie/cron"
	"magpie/internal/app"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// addJob puts a reminder into a store that nobody has open, and jobs lists them.
func addJob(t testing.TB, dir string) {
	t.Helper()
	b := bustest.Open(t, bus.Options{Dir: filepath.Join(dir, "bus")})
	_, err := jobStore(t, b).Add(t.Context(), cron.Job{
		Message: "water the plants", Addr: chat.Address{Channel: "telegram", Chat: fmt.Sprint(owner)}, Direct: true,
		Maker: cron.Person{Channel: "telegram", Sender: chat.Sender{ID: fmt.Sprint(owner)}}, Mode: cron.Notify,
		Schedule: cron.Schedule{Cron: "0 9 1 1 *", Zone: "Asia/Shanghai"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func jobStore(t testing.TB, b *bus.Bus) *cron.Store {
	t.Helper()
	s, err := cron.NewStore(b.Table("jobs"), &cron.StoreOptions{Zone: "Local", PerChat: 10})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answered is how many answers some chats have, of which the receipts are stored.
func (w *world) answered(first, chats int) []int {
	w.t.Helper()
	n := make([]int, chats)
	for c := range chats {
		chat := int64(first + c)
		n[c] = len(w.tg.Messages(chat))
		// With the next answer all these have theirs.
		w.wait(chat, "one more answer", func(m []telegram.Message) bool { return len(m) > n[c] })
	}
	return n
}

// A bot that people write to is copied, goes on, and is lost. What was restored
// from the copy knows the conversations, jobs, notes and files, answers what
// waited at the moment of the copy and nothing that was answered before, and
// its audit log is whole.
func TestBackupOfARunningBotIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) == 0 && strings.Contains(r.LastUser(), "note") {
			return modelserver.Answer{Calls: []modelserver.Call{
				{Name: "memory_write", Args: `{"content":"likes tea"}`},
				{Name: "write_file", Args: `{"path":"deep/plan.md","content":"tea"}`},
			}}
		}
		return modelserver.Echo(r)
	})
	path, listen := w.config("bot")
	addJobTo(t, filepath.Dir(path))
	b := w.startWith(path, listen)
	b.ready()
	w.say("take a note")
	w.wait(owner, "the note", func(m []telegram.Message) bool { return len(m) == 1 })
	const chats, first = 4, 5000
	for c := range chats {
		w.tg.AddPerson(telegram.Person{ID: int64(first + c), Name: fmt.Sprint("p", c)})
	}
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	said := make([]int, chats)
	for c := range chats {
		wg.Go(func() { said[c] = w.write(writing, int64(first+c)) })
	}
	b.until("people are answered", func() bool { return w.model.Count() > 60 }, func() string { return fmt.Sprint(w.model.Count()) })
	before := w.answered(first, chats)
	file := filepath.Join(t.TempDir(), "copy.tar.gz")
	w.command(path, 0, "checked", "backup", file)
	w.command(path, 1, "is there already", "backup", file)
	stop()
	wg.Wait()
	for c, n := range said {
		if n > 0 {
			w.wait(int64(first+c), "the last answer", func(m []telegram.Message) bool { return count(m, tag(int64(first+c), n-1)) > 0 })
		}
	}
	b.kill()

	again, listen := w.config("again")
	w.restoreFed(again, file)
	w.command(again, 1, "there is something already", "restore", file)
	b = w.startWith(again, listen)
	b.ready()
	w.checkRestored(again, first, said, before)
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(again), "workspace", "deep", "plan.md")); err != nil || string(text) != "tea\n" {
		t.Errorf("the workspace's file holds %q, %v", text, err)
	}
	w.command(again, 0, "likes tea", "memory", "list", "telegram:person:1001")
	w.command(again, 0, "the log is whole", "audit", "verify")
	clean(t, b.signal(syscall.SIGTERM))
	if jobs, err := jobStore(t, bustest.Open(t, bus.Options{Dir: filepath.Join(filepath.Dir(again), "bus")})).All(t.Context()); err != nil || len(jobs) != 1 || jobs[0].Message != "water the plants" {
		t.Errorf("jobs %v, %v", jobs, err)
	}
}

// restoreFed restores from the standard input. A run that is killed while it
// reads leaves nothing.
func (w *world) restoreFed(path, file string) {
	w.t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	data := filepath.Dir(path)
	before := listing(w.t, w.dir)
	out, in, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	b := launchFed(w.t, filepath.Dir(path), nil, out, "restore", "-", "--config", path)
	// More than a pipe holds: when it is written, the program has begun to keep it.
	_ = in.SetWriteDeadline(time.Now().Add(deadline))
	if _, err := in.Write(make([]byte, 1<<20)); err != nil {
		w.t.Errorf("the restore does not read: %v", err)
	}
	b.kill()
	in.Close()
	if diff := cmp.Diff(before, listing(w.t, w.dir)); diff != "" {
		w.t.Errorf("a restore that was killed while it read has changed something:\n%s", diff)
	}
	w.fed(path, bytes.NewReader(whole), 0, "restored state of", "restore", "-")
	left, err := filepath.Glob(filepath.Join(data, ".backup-*"))
	if err != nil || len(left) > 0 {
		w.t.Errorf("what was read is still there: %v, %v", left, err)
	}
}

// addJobTo is addJob with the store closed again before it returns.
func addJobTo(t *testing.T, dir string) {
	t.Run("a job", func(t *testing.T) { addJob(t, dir) })
}

// checkRestored lets the restored bot finish and looks at what it did: life 2.
func (w *world) checkRestored(path string, first int64, said, before []int) {
	w.t.Helper()
	again := 0
	for c := range said {
		chat := first + int64(c)
		asked := make(chan modelserver.Request, 100)
		w.model.Reply(func(r modelserver.Request) modelserver.Answer { asked <- r; return modelserver.Echo(r) })
		w.tg.Say(telegram.Said{From: chat, Text: "the end"})
		w.wait(chat, "an answer of the restored bot", func(m []telegram.Message) bool { return count(m, "the end") == 1 })
		var last modelserver.Request
		for !strings.Contains(last.LastUser(), "the end") {
			last = receive(w.t, asked, "the question")
		}
		for i := range said[c] {
			text := tag(chat, i)
			lives := w.sent.lives("echo: " + text)
			if len(lives) == 0 || len(lives) > 2 || len(lives) == 2 && lives[0] == lives[1] {
				w.t.Errorf("%s was answered by lives %v", text, lives)
			}
			if i < before[c] {
				if len(lives) != 1 {
					w.t.Errorf("%s was answered before the copy and again after the restore: lives %v", text, lives)
				}
				if !remembers(last, text) {
					w.t.Errorf("the restored bot does not remember %s", text)
				}
			}
			again += len(lives) - 1
		}
	}
	w.t.Logf("%v messages said, %v answered before the copy; %d that waited then were answered by the restored bot", said, before, again)
}

func remembers(r modelserver.Request, text string) bool {
	for _, m := range r.Messages {
		if m.Role == "user" && strings.Contains(m.Text, text) {
			return true
		}
	}
	return false
}

// What cannot be restored is refused before anything is touched, and what is
// there is replaced with --force only and kept.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.say("hello")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.tar.gz")
	clean(t, b.signal(syscall.SIGTERM))
	w.command(path, 0, "checked", "backup", file) // of a bot that does not run
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"cut":     whole[:len(whole)-1000],
		"flipped": flipped(whole, len(whole)/2),
		"empty":   nil,
		"other":   []byte("just a text"),
	} {
		says := ": the backup is damaged: "
		switch name {
		case "cut":
			says += "its end is missing"
		case "empty":
			says += "it is empty"
		}
		bad := filepath.Join(dir, name)
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before := listing(t, w.dir)
		w.command(path, 1, bad+says, "restore", "--force", bad)
		w.fed(path, bytes.NewReader(data), 1, "bot: standard input"+says, "restore", "--force", "-")
		if diff := cmp.Diff(before, listing(t, w.dir)); diff != "" {
			t.Errorf("a backup that is %s has changed something:\n%s", name, diff)
		}
	}
	b = w.startWith(path, listen)
	b.ready()
	w.command(path, 1, "stop it first", "restore", "--force", file)
	w.fed(path, bytes.NewReader(whole), 1, "stop it first", "restore", "--force", "-")
	w.say("one more")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 2 })
	clean(t, b.signal(syscall.SIGTERM))
	w.command(path, 1, "--force", "restore", file)
	w.command(path, 0, "kept in", "restore", "--force", file)
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(path), "before-restore-*", "bus"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept %v, %v", kept, err)
	}
	b = w.startWith(path, listen)
	b.ready()
	w.say("who am I?")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return count(m, "who am I?") == 1 })
	if r := w.model.Requests(); remembers(r[len(r)-1], "one more") || !remembers(r[len(r)-1], "hello") {
		t.Error("the restored bot does not remember what the backup held")
	}
}

func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 0x10
	return data
}

// listing lists all files below dir with their sizes.
func listing(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			all = append(all, fmt.Sprint(path, " ", info.Size()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Two bots on an external bus are copied while they work, by one of them; the
// copy is restored into the emptied bus, and refused while anybody works.
func TestBackupOfAnExternalBus(t *testing.T) {
	t.Parallel()
	w := shared(t)
	path, listen := w.config("gateway")
	gateway := w.startWith(path, listen, "--roles", "gateway")
	agent := w.start("agent", "--roles", "agent")
	gateway.ready()
	agent.ready()
	w.say("hello")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	gateway.sent()
	file := filepath.Join(t.TempDir(), "copy.tar.gz")
	w.command(path, 0, "checked", "backup", file)
	clean(t, gateway.signal(syscall.SIGTERM))
	w.command(path, 1, "the store is in use by 1 programs", "restore", "--force", file)
	clean(t, agent.signal(syscall.SIGTERM))
	w.command(path, 0, "what was there before is kept in", "restore", "--force", file)
	gateway = w.startWith(path, listen)
	gateway.ready()
	w.say("who am I?")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return count(m, "who am I?") == 1 })
	if r := w.model.Requests(); !remembers(r[len(r)-1], "hello") {
		t.Error("the restored bot does not remember what the backup held")
	}
	if n := count(w.tg.Messages(owner), "hello"); n != 1 {
		t.Errorf("answered %d times, want once", n)
	}
}

// A newer program backs up a store before it changes it; the older one refuses
// it then, and has its store back from that backup.
func TestNewerProgramBacksUpTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.say("hello")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	clean(t, b.signal(syscall.SIGTERM))
	cfg, err := config.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	newer, err := app.OpenNewer(ctx, cfg, []bus.Migration{func(ctx context.Context, b *bus.Bus) error {
		return b.Table("sess").Delete(ctx, "nothing")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := newer.Close(); err != nil {
		t.Error(err)
	}
	w.command(path, 1, "the store has schema version 2, this program knows 1", "run")
	w.command(path, 1, "a newer bot has used it", "backup", filepath.Join(t.TempDir(), "copy.tar.gz"))
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(path), "backups", "schema-1-*.tar.gz"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("backups %v, %v; want one", kept, err)
	}
	w.command(path, 0, "restored", "restore", "--force", kept[0])
	b = w.startWith(path, listen)
	b.ready()
	w.say("who am I?")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return count(m, "who am I?") == 1 })
	if r := w.model.Requests(); !remembers(r[len(r)-1], "hello") {
		t.Error("the restored bot does not remember")
	}
}
