package dingtalk

import (
	"context"
	"testing"

	"magpie/channels/channeltest"

	fake "magpie/internal/fakes/dingtalk"
)

// A scanned code gives the credentials when the person agrees; trouble on the
// way is waited out.
func TestRegistration(t *testing.T) {
	w := newWorld(t, nil)
	r, err := BeginRegistration(channeltest.Bounded(t), nil, w.url)
	if err != nil || r.URL != w.url+"/scan?user_code=FAKE-CODE" || r.every < leastPoll {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Fail(fake.Fault{Op: fake.OpRegister, Status: 503, Page: true})
	w.Agree()
	id, secret, err := r.Wait(channeltest.Bounded(t))
	if wantID, wantSecret := w.Credentials(); err != nil || id != wantID || string(secret) != wantSecret {
		t.Errorf("%q, %v", id, err)
	}
	if n := w.Calls(fake.OpRegister); n != 4 {
		t.Errorf("%d calls, want 4", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r, err = BeginRegistration(channeltest.Bounded(t), nil, w.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Wait(ended); err == nil {
		t.Error("it waits for ever")
	}
	w.Fail(fake.Fault{Op: fake.OpRegister, Status: 200, Code: "x", Errcode: 40078})
	if _, err := BeginRegistration(channeltest.Bounded(t), nil, w.url); err == nil {
		t.Error("a refusal is no registration")
	}
}
