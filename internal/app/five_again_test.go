package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/qq"
)

// A message that its platform brings again, at once, to the next life of the
// program, or six hours later, leads to one turn.
func TestFiveSeenBefore(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	f := newFive(t, fiveOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	f.extra = "agent: {busy: queue}"
	b := f.start()
	chats := map[side]string{}
	again := map[side]func(){}
	said := 1
	f.each(func(p side) {
		chats[p] = p.join(0)
		again[p] = f.repeat(p, chats[p], "once "+mark(0, 0), &said)
		f.wait(p, chats[p], "answer", has(mark(0, 0)))
	})
	// In a chat everything is in order: what comes again is dealt with before
	// the message after it is answered.
	bring := func(n int) {
		t.Helper()
		f.each(func(p side) {
			again[p]()
			p.say(chats[p], "next "+mark(0, n))
		})
		said++
		f.each(func(p side) { f.wait(p, chats[p], fmt.Sprint("answer ", n), has(mark(0, n))) })
	}
	bring(1)
	clean(t, b.signal(syscall.SIGTERM))
	b = f.start()
	bring(2)
	b.sent()
	b.kill()
	b = f.start()
	bring(3)
	ahead.Store(int64(6 * time.Hour))
	bring(4)
	clean(t, b.signal(syscall.SIGTERM))
	f.each(func(p side) {
		if shown := p.shown(chats[p]); len(shown) != 5 || holding(shown, mark(0, 0)) != 1 {
			t.Errorf("%s shows %q", p.name(), shown)
		}
	})
	for _, r := range f.model.Requests() {
		if last := r.LastUser(); strings.Count(last, "once") > 0 && len(r.Messages) != 1 {
			t.Errorf("asked again for %q", last)
		}
	}
	if got, want := f.model.Count(), 5*5; got != want {
		t.Errorf("the model was asked %d times, want %d", got, want)
	}
}

// repeat says text in a chat and returns what makes the platform bring that
// message again, with the time at which it was written. said is how many
// messages QQ has brought by then.
func (f *five) repeat(p side, chat, text string, said *int) (again func()) {
	at := time.Now()
	switch p := p.(type) {
	case *onTelegram:
		id := p.say(chat, text)
		return func() {
			p.Push(fmt.Sprintf(`{"update_id":1001,"message":{"message_id":%s,"date":%d,"text":%q,"chat":{"id":%s,"type":"private","first_name":"P0"},"from":{"id":%s,"is_bot":false,"first_name":"P0"}}}`,
				id, at.Unix(), text, chat, chat))
		}
	case *onDiscord:
		id := p.say(chat, text)
		return func() {
			p.Push("MESSAGE_CREATE", map[string]any{
				"id": id, "channel_id": chat, "type": 0, "content": text, "timestamp": at.Format(time.RFC3339), "edited_timestamp": nil,
				"author": map[string]any{"id": "7" + chat[1:], "username": "p0", "discriminator": "0"}, "attachments": []any{}, "embeds": []any{}, "mentions": []any{},
			})
		}
	case *onFeishu:
		id := p.say(chat, text)
		return func() { p.Again(id) }
	case *onDingTalk:
		id, _ := p.Say(dingtalk.Said{Chat: chat, Text: text})
		n := 0
		return func() {
			n++
			body, err := json.Marshal(map[string]any{
				"msgId": id, "conversationType": "1", "conversationId": "cid-direct-P0==", "senderStaffId": strings.TrimPrefix(chat, "user:"), "senderNick": "P0", "senderId": "x",
				"robotCode": dingtalk.DefaultClientID, "createAt": at.UnixMilli(), "msgtype": "text", "text": map[string]any{"content": text},
			})
			if err != nil {
				f.t.Fatal(err)
			}
			if !p.Push(p.Frame(dingtalk.TopicRobot, fmt.Sprint("again", n), string(body))) {
				f.t.Error("dingtalk: nobody took the repeated frame")
			}
		}
	case *onQQ:
		p.Say(qq.Said{Chat: chat, Text: text})
		return func() { p.Again(*said) }
	}
	f.t.Fatalf("no way to repeat on %s", p.name())
	return nil
}
