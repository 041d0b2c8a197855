package all_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/web/guard"
)

// offline resolves nothing: what is fuzzed must not go to the network.
func offline() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no network in this test")
	}}
}

// FuzzEveryTool sends arguments of all kinds to every tool through the
// executor: whatever they are, there is an answer, and never a panic.
func FuzzEveryTool(f *testing.F) {
	g, err := guard.New(&guard.Options{Resolver: offline()})
	if err != nil {
		f.Fatal(err)
	}
	reg, _ := registerWith(f, g)
	e := tools.NewExecutor(reg, &tools.Options{Timeout: 2 * time.Second, NetworkTimeout: 2 * time.Second})
	deny, err := tools.NewPolicy([]tools.Rule{{Action: tools.Deny}})
	if err != nil {
		f.Fatal(err)
	}
	judged := tools.NewExecutor(reg, &tools.Options{Policy: deny})
	specs := reg.List()
	for i := range specs {
		for _, args := range []string{
			`{}`, `null`, `[]`, `"x"`, `{"path":"../../etc/passwd"}`, `{"path":"a","content":"喜鹊"}`, `{"url":"http://127.0.0.1/"}`,
			`{"text":"{\"a\":1}"}`, `{"key":"PATH","value":""}`, `{"content":"x","media":["a"],"buttons":["b"]}`, `{"path":"a","old_text":"","diff":"@@ @@"}`,
			`{"from":"a","to":"a/b"}`, `{"action":"search","keywords":"a"}`, `{"duration":-1}`, `{"pattern":"[","content":"\u0000"}`, `{"data":[[[[]]]]}`,
			`{"command":"true"}`, strings.Repeat(`{"a":`, 200),
		} {
			f.Add(uint8(i), args)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, args string) {
		spec := specs[int(n)%len(specs)]
		e := e
		if spec.Category == tools.Code { // arguments only: commands are fuzzed where their guard is
			e = judged
		}
		sc := tools.Scope{Addr: chat.Address{Channel: "c", Chat: "1"}, Sender: chat.Sender{ID: "1"}, Direct: true, CallID: "c", Turn: "t"}
		res := e.Run(t.Context(), sc, spec.Name, args)
		if strings.Contains(res.Text, "broke down") {
			t.Errorf("%s(%q): %s", spec.Name, args, res.Text)
		}
		if !res.OK && (res.Err == "" || res.Text == "") {
			t.Errorf("%s(%q) failed without a reason: %+v", spec.Name, args, res)
		}
	})
}
