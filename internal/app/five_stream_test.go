package app_test

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// phases are the different texts that chats have shown, by platform.
type phases struct {
	mu    sync.Mutex
	shown map[string][]string
}

func (p *phases) note(platform, _, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.shown[platform]; len(all) == 0 || all[len(all)-1] != text {
		p.shown[platform] = append(all, text)
	}
}

func (p *phases) of(platform string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.shown[platform]...)
}

// slow are the faults with which platforms refuse to show more of a reply for
// now, and let some calls hang.
func (f *five) slow() {
	f.tg.Fail(telegram.Fault{Method: "editMessageText", Code: 429, Text: "Too Many Requests: retry after 1", RetryAfter: 1, Times: 3})
	f.dc.Fail(discord.Fault{Route: "edit message", Status: 429, RetryAfter: 0.3, Times: 3})
	f.fs.Fail(feishu.Fault{Op: "content", Status: 429, Code: 99991400, Msg: "request trigger frequency limit", Reset: 1, Times: 3})
	f.dt.Fail(dingtalk.Fault{Op: dingtalk.OpCardStream, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Message: "发送速度太快而限流"})
}

// TestFiveStreaming: the reply is shown while it is written where the platform
// can do that, and stands there whole in one message at the end, as the history
// holds it, with nothing else left; also when the platform refuses edits for a
// while.
func TestFiveStreaming(t *testing.T) {
	for _, c := range []struct {
		name string
		slow bool
	}{{"willing", false}, {"slow", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ph := &phases{shown: map[string][]string{}}
			f := newFive(t, fiveOptions{told: ph.note, cards: true})
			f.common = "stream: true"
			f.qq.Grant(qq.Policy{Streams: true})
			seen := make(chan struct{}) // something of each reply, before its end
			f.model.Reply(func(r modelserver.Request) modelserver.Answer {
				if strings.Contains(r.LastUser(), "poem") {
					a := streamed(poem)(r)
					a.Pieces.Hold = seen
					return a
				}
				return modelserver.Answer{Text: "end, after " + history(r)}
			})
			b := f.start()
			if c.slow {
				f.slow()
			}
			chats := map[side]string{}
			f.each(func(p side) {
				chats[p] = p.join(0)
				p.say(chats[p], "a poem, please")
			})
			f.each(func(p side) {
				f.within(deadline, p.name()+" shows something of the reply before its end", func() bool { return len(ph.of(p.name())) > 0 })
			})
			if c.slow { // an end that is refused goes as a message beside the card
				f.within(deadline, "DingTalk has refused a draft", func() bool { return f.dt.Calls(dingtalk.OpCardStream) > 0 })
			}
			close(seen)
			f.each(func(p side) {
				f.wait(p, chats[p], "whole text", func(all []line) bool { return len(all) == 1 && all[0].text == poem })
			})
			f.settled(chats)
			f.each(func(p side) { p.say(chats[p], "end") })
			f.each(func(p side) {
				shown := f.wait(p, chats[p], "end", has("end, after "+poem))
				if len(shown) != 2 || shown[0].text != poem || shown[1].text != "end, after "+poem {
					t.Errorf("%s shows %q", p.name(), shown)
				}
				t.Logf("%s: %d drafts", p.name(), len(ph.of(p.name()))-2) // the whole and the end
			})
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// history is what the assistant has said before, as the model gets it.
func history(r modelserver.Request) string {
	var said []string
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			said = append(said, m.Text)
		}
	}
	return strings.Join(said, "|")
}

// settled waits until no sign says any more that a reply is being written.
func (f *five) settled(chats map[side]string) {
	f.t.Helper()
	f.within(deadline, "the card of dingtalk is finished", func() bool {
		m := f.dt.Messages(chats[f.dt])
		return len(m) == 1 && m[0].State == dingtalk.Finished
	})
	f.within(deadline, "the card of feishu is finished, the reaction gone", func() bool {
		m := f.fs.Messages(chats[f.fs])
		return len(m) == 1 && !m[0].Streaming && len(m[0].Reactions) == 0
	})
}

// TestFiveKilledWhileStreaming: the program dies while replies are shown; the
// next one ends each with the whole text, and no half of it stays.
func TestFiveKilledWhileStreaming(t *testing.T) {
	t.Parallel()
	ph := &phases{shown: map[string][]string{}}
	f := newFive(t, fiveOptions{told: ph.note, cards: true})
	f.common = "stream: true"
	f.qq.Grant(qq.Policy{Streams: true})
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		a := streamed(poem)(r)
		a.Pieces.Pause, a.Pieces.Hold = 300*time.Millisecond, make(chan struct{}) // it dies before the end
		return a
	})
	b := f.start()
	chats := map[side]string{}
	f.each(func(p side) {
		chats[p] = p.join(0)
		p.say(chats[p], "a poem, please")
	})
	f.each(func(p side) {
		f.within(deadline, "drafts on "+p.name(), func() bool { return len(ph.of(p.name())) > 1 })
	})
	b.kill()
	f.model.Reply(func(modelserver.Request) modelserver.Answer { return modelserver.Answer{Text: poem} })
	b = f.start()
	f.each(func(p side) { f.wait(p, chats[p], "whole text", has(poem)) })
	f.model.Reply(nil)
	f.each(func(p side) { p.say(chats[p], "end") })
	f.each(func(p side) {
		shown := f.wait(p, chats[p], "end", has("echo: end"))
		if len(shown) != 2 || shown[0].text != poem {
			t.Errorf("%s shows %q", p.name(), shown)
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}
