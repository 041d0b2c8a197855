package qq

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
)

func asHook(c *Config) { c.Mode = modeWebhook }

// hooked is a world with a bot in webhook mode behind a real server.
func hooked(t *testing.T, d channels.Deps) (*world, *QQ, string) {
	t.Helper()
	w := newWorld(t, nil)
	q := w.channel(t, d, asHook)
	front := httptest.NewServer(q.Hook())
	t.Cleanup(front.Close)
	return w, q, front.URL
}

// signed makes a call as the platform would, and lets the test spoil it.
func signed(t *testing.T, secret, url, body string, spoil func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(channeltest.Bounded(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	stamp(req, secret, body, time.Now())
	if spoil != nil {
		spoil(req)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

func stamp(req *http.Request, secret, body string, at time.Time) {
	ts := strconv.FormatInt(at.Unix(), 10)
	req.Header.Set(timestampHeader, ts)
	req.Header.Set(signatureHeader, hex.EncodeToString(ed25519.Sign(key(secret), []byte(ts+body))))
}

// Published and computed vectors of keys and signatures
// (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/interface-framework/sign.html
// and botgo's test, read November 2026).
func TestSignatureVectors(t *testing.T) {
	for _, c := range []struct{ secret, message, signature, public string }{
		{
			"DG5g3B4j9X2KOErG", "1725442341Arq0D5A61EgUu4OxUvOp",
			"87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d01bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706", "",
		},
		{"naOC0ocQE3shWLAfffVLB1rhYPG7", "", "", "d7c362fe78aef81ff23287b493628b5db02a3c4fe30b215e4d19609b5d76673a"},
		{
			"123456abcdef", `1728981195{"id":"ROBOT1.0_veoihSEXDc8Q.g-6eLpNIa11bH8MisOjn-m-LKxCPntMk6exUXgcWCGpVO7L2QKTNZzjZzFFDSbiOFcqAPWyVA!!","content":"哦一下","timestamp":"2024-10-15T16:33:15+08:00","author":{"id":"675860273","user_openid":"675860273"}}`,
			"e949b5b94ef4103df903fb031d1d16e358db3db83e79e117edd404c8508be3ce8a76d7bad1bed353194c126a1a5915b4ad8b5288c1191cc53a12acffccd82004", "",
		},
	} {
		k := key(c.secret)
		if c.public != "" && hex.EncodeToString(k.Public().(ed25519.PublicKey)) != c.public {
			t.Errorf("public key of %q is wrong", c.secret)
		}
		if c.signature != "" && hex.EncodeToString(ed25519.Sign(k, []byte(c.message))) != c.signature {
			t.Errorf("signature with %q is wrong", c.secret)
		}
	}
	if a, b := key("FAKESECRET0000"), key("FAKESECRET0000FAKESECRET0000FAKESECRET0000"); !a.Equal(b) {
		t.Error("a secret longer than a seed is cut to it")
	}
}

func TestWebhookConformsToEverythingInward(t *testing.T) {
	w, q, url := hooked(t, channels.Deps{})
	body := `{"op":0,"id":"C2C_MESSAGE_CREATE:1","t":"C2C_MESSAGE_CREATE","d":{"id":"m1","content":"hello","author":{"user_openid":"U"}}}`
	if code, _ := signed(t, w.Secret(), url, body, nil); code != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d", code)
	}
	r := start(t, q)
	if err := w.SetHook(channeltest.Bounded(t), url); err != nil {
		t.Fatal(err)
	}
	w.Say(fake.Said{Chat: ann, Text: "one"})
	w.Push("C2C_MESSAGE_CREATE", 7)
	w.Say(fake.Said{Chat: crowd, From: member, Text: "two"})
	for _, want := range []string{"one", "two"} {
		if in := r.Next(t); in.Text != want {
			t.Errorf("got %+v, want %q", in, want)
		}
	}
	if ref := r.mustSend(t, answering(ann, "a", "answer")); ref.ID == "" || len(w.Messages(ann)) != 1 {
		t.Errorf("the chat shows %+v", w.Messages(ann))
	}
	code, answer := signed(t, w.Secret(), url, body, nil)
	if code != 200 || answer != `{"d":0,"op":12}` {
		t.Errorf("%d %s", code, answer)
	}
	if in := r.Next(t); in.Text != "hello" || in.ID != "qq:qq:c2c:U:m1" {
		t.Errorf("got %+v", in)
	}
	if err := r.Stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	if code, _ := signed(t, w.Secret(), url, body, nil); code != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d", code)
	}
}

func TestWebhookRefusesForgedCalls(t *testing.T) {
	w, q, url := hooked(t, channels.Deps{})
	r := start(t, q)
	body := `{"op":0,"id":"C2C_MESSAGE_CREATE:1","t":"C2C_MESSAGE_CREATE","d":{"id":"m1","content":"hello","author":{"user_openid":"U"}}}`
	for name, c := range map[string]struct {
		spoil func(*http.Request)
		want  int
	}{
		"no signature":    {func(req *http.Request) { req.Header.Del(signatureHeader) }, 401},
		"no time":         {func(req *http.Request) { req.Header.Del(timestampHeader) }, 401},
		"not hex":         {func(req *http.Request) { req.Header.Set(signatureHeader, "zz") }, 401},
		"short":           {func(req *http.Request) { req.Header.Set(signatureHeader, "00ff") }, 401},
		"other secret":    {func(req *http.Request) { stamp(req, "another", body, time.Now()) }, 401},
		"other body":      {func(req *http.Request) { stamp(req, w.Secret(), body+" ", time.Now()) }, 401},
		"too old":         {func(req *http.Request) { stamp(req, w.Secret(), body, time.Now().Add(-replayWindow-time.Minute)) }, 401},
		"of the future":   {func(req *http.Request) { stamp(req, w.Secret(), body, time.Now().Add(replayWindow+time.Minute)) }, 401},
		"time not signed": {func(req *http.Request) { req.Header.Set(timestampHeader, strconv.FormatInt(time.Now().Unix()-5, 10)) }, 401},
		"a while ago":     {func(req *http.Request) { stamp(req, w.Secret(), body, time.Now().Add(-replayWindow/2)) }, 200},
		"GET":             {func(req *http.Request) { req.Method = http.MethodGet }, 405},
	} {
		if code, _ := signed(t, w.Secret(), url, body, c.spoil); code != c.want {
			t.Errorf("%s: %d, want %d", name, code, c.want)
		}
	}
	r.Next(t) // "a while ago" only
	select {
	case in := <-r.In:
		t.Errorf("a forged call came through: %+v", in)
	default:
	}
	long := strings.Repeat("x", maxHook+1)
	if code, _ := signed(t, w.Secret(), url, long, nil); code != http.StatusRequestEntityTooLarge {
		t.Errorf("an endless call: %d", code)
	}
	if code, answer := signed(t, w.Secret(), url, "{not json", nil); code != 200 || answer != `{"d":0,"op":12}` {
		t.Errorf("undecodable: %d %s; the platform would repeat it for ever", code, answer)
	}
}

// The validation must not sign what somebody could use as an event.
func TestValidationIsNoSigningService(t *testing.T) {
	w, q, url := hooked(t, channels.Deps{})
	start(t, q)
	for body, want := range map[string]int{
		`{"op":13,"d":{"plain_token":"Arq0D5A61EgUu4OxUvOp","event_ts":"1725442341"}}`:             200,
		`{"op":13,"d":{"plain_token":"{\"op\":0}","event_ts":"1725442341"}}`:                       400,
		`{"op":13,"d":{"plain_token":"","event_ts":"1725442341"}}`:                                 400,
		`{"op":13,"d":{"plain_token":"abc","event_ts":"x"}}`:                                       400,
		`{"op":13,"d":{"plain_token":"` + strings.Repeat("a", 200) + `","event_ts":"1725442341"}}`: 400,
		`{"op":13,"d":7}`: 400,
	} {
		if code, answer := signed(t, w.Secret(), url, body, nil); code != want {
			t.Errorf("%s: %d %s, want %d", body, code, answer, want)
		}
	}
	unsigned := func(req *http.Request) { req.Header.Del(signatureHeader) }
	if code, _ := signed(t, w.Secret(), url, `{"op":13,"d":{"plain_token":"abc","event_ts":"1725442341"}}`, unsigned); code != 401 {
		t.Errorf("unsigned validation: %d", code)
	}
}

// What is not stored is not acknowledged, and comes again in its place.
func TestWebhookAcknowledgesWhatIsStored(t *testing.T) {
	w, q, url := hooked(t, channels.Deps{})
	var mu sync.Mutex
	failures := 3
	r := startWith(t, q, func(chat.Inbound) error {
		mu.Lock()
		defer mu.Unlock()
		if failures > 0 {
			failures--
			return errors.New("disk full")
		}
		return nil
	})
	if err := w.SetHook(channeltest.Bounded(t), url); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1", "2", "3"} {
		w.Say(fake.Said{Chat: ann, Text: text})
	}
	for _, want := range []string{"1", "2", "3"} {
		if in := r.Next(t); in.Text != want {
			t.Errorf("got %q, want %q", in.Text, want)
		}
	}
	channeltest.Eventually(t, "all is acknowledged", func() bool { return w.Waiting() == 0 })
}

// A call that is being handled when Run ends is cut off and not acknowledged.
func TestWebhookEndsWithRun(t *testing.T) {
	w, q, url := hooked(t, channels.Deps{})
	inside := make(chan struct{})
	release := make(chan struct{})
	r := startWith(t, q, func(chat.Inbound) error {
		close(inside)
		<-release
		return errors.New("ended")
	})
	got := make(chan int, 1)
	go func() {
		code, _ := signed(t, w.Secret(), url, `{"op":0,"t":"C2C_MESSAGE_CREATE","d":{"id":"m1","content":"x","author":{"user_openid":"U"}}}`, nil)
		got <- code
	}()
	<-inside
	go func() { close(release) }()
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	if code := <-got; code != http.StatusServiceUnavailable {
		t.Errorf("answered %d", code)
	}
}

func TestWebhookModeProvesTheCredentials(t *testing.T) {
	w, q, _ := hooked(t, channels.Deps{})
	if err := q.Check(channeltest.Bounded(t)); err != nil {
		t.Error(err)
	}
	q.deps.Status = channels.NewStatus(nil)
	r := startWith(t, w.channel(t, channels.Deps{Status: q.deps.Status}, asHook), func(chat.Inbound) error { return nil })
	w.Revoke()
	channeltest.Eventually(t, "Run gives up", func() bool { return r.deps.Status.State().Stopped })
	if err := r.Stop(); channels.KindOf(err) != channels.Unauthorized {
		t.Errorf("run: %v", err)
	}
}

func TestHookInWSModeIsNotThere(t *testing.T) {
	w := newWorld(t, nil)
	front := httptest.NewServer(w.channel(t, channels.Deps{}).Hook())
	defer front.Close()
	if code, _ := signed(t, w.Secret(), front.URL, "{}", nil); code != http.StatusNotFound {
		t.Errorf("%d", code)
	}
}
