package command_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/chat"
)

// kept is the talk of the fixture's group.
type kept struct {
	talk []chat.Overheard
	err  error
}

func (k *kept) List(_ context.Context, session chat.SessionKey) ([]chat.Overheard, error) {
	if session != (chat.Address{Channel: "telegram", Chat: "5"}).Session() {
		return nil, errors.New("another chat")
	}
	return k.talk, k.err
}

func (k *kept) Clear(context.Context, chat.SessionKey) (int, error) {
	n := len(k.talk)
	k.talk = nil
	return n, k.err
}

// inGroup is what somebody writes in the group.
func (f *fixture) inGroup(t *testing.T, text string) string {
	t.Helper()
	d := f.delivery(text, "joe", "")
	d.Direct = false
	return f.handle(t, d)
}

func TestContext(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/context"), "private chat")
	wantAll(t, f.say(t, "/上下文"), "私聊")
	wantAll(t, f.inGroup(t, "/context"), "nothing")
	wantAll(t, f.inGroup(t, "/上下文"), "没有暂存")
	at := func(minutes int, o chat.Overheard) {
		o.At = noon.Add(time.Duration(minutes) * time.Minute)
		f.kept.talk = append(f.kept.talk, o)
	}
	bob := chat.Sender{ID: "7", Name: "Bob `*"}
	at(0, chat.Overheard{From: bob, Text: "look\nat `this`\n# loud"})
	at(1, chat.Overheard{From: chat.Sender{ID: "8", Username: "eve"}, Text: strings.Repeat("长", 500), Files: []chat.Attachment{{Kind: chat.Image}, {Kind: chat.File, Name: "a.pdf"}}})
	at(2, chat.Overheard{From: chat.Sender{ID: "9"}, Happening: chat.Joined})
	all := f.inGroup(t, "/context")
	wantAll(t, all, ": 3, since 2026-11-21 04:00", "- 04:00 `Bob *`: `look at this # loud`", "- 04:01 `eve`: `长长", "…` + `image` + `a.pdf`", "- 04:02 `9` joined", "/context clear")
	if strings.Contains(all, strings.Repeat("长", 400)) {
		t.Error("a long message is not cut")
	}
	wantAll(t, f.inGroup(t, "/上下文 查看"), "暂存了 3 条", "加入了群聊", "/上下文 清空")
	wantAll(t, f.inGroup(t, "/context tea"), "shows what I keep")
	if len(f.kept.talk) != 3 {
		t.Error("showing forgets")
	}
	wantAll(t, f.inGroup(t, "/context clear"), "Forgotten: 3")
	wantAll(t, f.inGroup(t, "/上下文 清空"), "已清除 0 条")
	for i := range 100 {
		at(i, chat.Overheard{From: bob, Text: fmt.Sprint("no ", i)})
	}
	if all := f.inGroup(t, "/context"); strings.Contains(all, "`no 69`") || !strings.Contains(all, "`no 70`") || !strings.Contains(all, ": 100,") {
		t.Errorf("a hundred are shown as\n%s", all)
	}
	if f.say(t, "/context clear"); len(f.kept.talk) != 100 {
		t.Error("cleared from a private chat")
	}
	f.kept.err = errors.New("down")
	for _, text := range []string{"/context", "/context clear"} {
		d := f.delivery(text, "joe", "")
		d.Direct = false
		if _, _, err := f.set.Handle(t.Context(), d, f.room); !errors.Is(err, f.kept.err) {
			t.Errorf("%s: err = %v", text, err)
		}
	}
	wantAll(t, f.say(t, "/help"), "`/context [clear]`")
}
