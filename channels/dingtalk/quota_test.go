package dingtalk

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// While DingTalk withholds what people write nothing reaches the sink, the
// operator reads why, and each chat is told once; afterwards all is as before.
func TestQuotaGone(t *testing.T) {
	w := newWorld(t, nil)
	var mu sync.Mutex
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return buf.Write(p)
	}), nil))
	status := channels.NewStatus(nil)
	ch := w.channel(t, channels.Deps{Log: log, Status: status, Table: &kv.Memory{}})
	r := channeltest.Receive(t, ch, nil)
	channeltest.Eventually(t, "the channel connects", func() bool { return status.State().Connected })
	w.QuotaGone(true)
	var frames []string
	for range 3 {
		for _, said := range []fake.Said{
			{Chat: ann().Chat(), Text: "a"},
			{Chat: out().Chat(), Files: []fake.File{{Kind: "picture", Data: []byte("p")}}},
			{Chat: crowd().Chat(), From: bob().Chat(), Text: "b", Mention: true},
		} {
			_, frame := w.Say(said)
			frames = append(frames, frame)
		}
	}
	for _, f := range frames {
		channeltest.Eventually(t, "the push is acknowledged", func() bool { a, ok := w.Ack(f); return ok && a.Code == 200 })
	}
	w.QuotaGone(false)
	for _, a := range []string{ann().Chat(), out().Chat(), crowd().Chat()} {
		channeltest.Eventually(t, "the chat is told", func() bool { return len(w.Messages(a)) > 0 })
		said := fake.Said{Chat: a, Text: "again", Mention: a == crowd().Chat()}
		if said.Mention {
			said.From = bob().Chat()
		}
		w.Say(said)
		if in := r.Next(t); in.Text != "again" {
			t.Errorf("the sink got %+v", in)
		}
		if m := w.Messages(a); len(m) != 1 || m[0].Text != quotaNews || m[0].Via != fake.OpWebhook {
			t.Errorf("%s shows %+v", a, m)
		}
	}
	if st := status.State(); !st.Connected || !strings.Contains(st.LastError, "20001") {
		t.Errorf("status %+v", st)
	}
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(buf.String(), "level=ERROR"); n != 1 || !strings.Contains(buf.String(), "errorCode=20001") {
		t.Errorf("%d errors in\n%s", n, buf.String())
	}
}

// Another code without content is no message either, and an error code beside a
// content withholds nothing.
func TestOtherCodes(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	w.Say(fake.Said{Chat: ann().Chat(), Text: "first", Fields: map[string]any{"errorCode": "20001"}})
	if in := r.Next(t); in.Text != "first" {
		t.Errorf("got %+v", in)
	}
	w.Push(w.Frame(fake.TopicRobot, "f1", `{"msgId":"m1","senderId":"s","conversationType":"1","msgtype":"text","errorCode":"70001"}`))
	channeltest.Eventually(t, "the state says so", func() bool { return strings.Contains(r.status.State().LastError, "70001") })
	w.Say(fake.Said{Chat: ann().Chat(), Text: "second"})
	if in := r.Next(t); in.Text != "second" {
		t.Errorf("got %+v", in)
	}
}

// A content that is there and empty is withheld as well.
func TestWithheld(t *testing.T) {
	for body, want := range map[string]bool{
		`"errorCode":20001`: true,
		`"errorCode":"20001","text":null,"content":null`:             true,
		`"errorCode":20001,"text":{"content":" "}`:                   true,
		`"errorCode":20001,"text":{}`:                                true,
		`"errorCode":20001,"content":""`:                             true,
		`"errorCode":20001,"content":"{}"`:                           true,
		`"errorCode":20001,"content":"{\"richText\":[]}"`:            true,
		`"errorCode":20001,"text":{"content":"","isReplyMsg":false}`: true,
		`"errorCode":20001,"text":{"content":"7"}`:                   false,
		`"errorCode":20001,"content":{"richText":[{"text":""}]}`:     true,
		`"text":{"content":""}`:                                      false,
		`"errorCode":0,"text":{"content":""}`:                        false,
		`"errorCode":20001,"text":{"content":"a"}`:                   false,
		`"errorCode":20001,"content":{"downloadCode":"c"}`:           false,
		`"errorCode":20001,"text":{"isReplyMsg":true,"content":""}`:  false,
		`"errorCode":20001,"content":{"richText":[{},{"text":"a"}]}`: false,
		`"errorCode":20001,"content":"{\"downloadCode\":\"c\"}"`:     false,
	} {
		var m message
		if err := json.Unmarshal([]byte("{"+body+"}"), &m); err != nil || m.withheld() != want {
			t.Errorf("%s: withheld %v, %v", body, m.withheld(), err)
		}
	}
}
