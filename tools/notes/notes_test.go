package notes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/agent/memory"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
	"magpie/tools/notes"
	"magpie/tools/tooltest"
)

func TestNotes(t *testing.T) {
	reg := &tools.Registry{}
	store := memory.New(new(kv.Memory), func() time.Time { return time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC) })
	if err := reg.RegisterAll(notes.Tools{Store: store}.All()...); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	ann := tools.Scope{Addr: chat.Address{Channel: "qq", Chat: "c2c:ann"}, Sender: chat.Sender{ID: "ann", Name: "安"}, Direct: true, Zone: time.FixedZone("CST", 8*3600)}
	bob := ann
	bob.Sender.ID, bob.Addr.Chat = "bob", "c2c:bob"
	group := ann
	group.Direct, group.Addr.Chat = false, "group:x"
	run := func(sc tools.Scope, tool, args string, kind tools.ErrorKind, want ...string) {
		t.Helper()
		res := e.Run(t.Context(), sc, tool, args)
		for _, w := range want {
			if res.Err != kind || !strings.Contains(res.Text, w) {
				t.Errorf("%s(%s) = %s %q, want %s %q", tool, args, res.Err, res.Text, kind, w)
			}
		}
	}
	run(ann, "memory_read", `{}`, "", "nothing is remembered")
	run(ann, "memory_write", `{"content":"对花生过敏"}`, "", "note 1")
	run(ann, "memory_write", `{"text":"works at\nAcme"}`, "", "note 2")
	run(ann, "memory_search", `{"query":"过敏"}`, "", "1. [2026-11-22] 对花生过敏 (安)")
	run(ann, "memory_search", `{"keywords":"过敏 Acme","matchMode":"and"}`, "", "no note")
	run(ann, "memory_search", `{"keywords":"过敏 acme","maxResults":"1"}`, "", "1. ")
	run(ann, "memory_read", `{"startLine":2}`, "", "notes 2 to 2 of 2\n2. [2026-11-22] works at Acme")
	run(ann, "memory_read", `{"recent_count":1}`, "", "notes 2 to 2 of 2")
	run(ann, "memory_read", `{"start_line":3}`, tools.InvalidArgs, "only 2 notes")
	run(ann, "memory_read", `{"start_line":2,"end_line":1}`, tools.InvalidArgs, "start_line")
	run(ann, "memory_write", `{"content":" \n"}`, tools.InvalidArgs, "empty")
	run(ann, "memory_write", fmt.Sprintf(`{"content":%q}`, strings.Repeat("长", 2001)), tools.InvalidArgs, "2000")
	// Nobody else sees it, and the group not either.
	for _, sc := range []tools.Scope{bob, group} {
		run(sc, "memory_search", `{"keywords":"过敏"}`, "", "no note")
		run(sc, "memory_read", `{}`, "", "nothing is remembered")
	}
	group.Sources = []chat.Source{{Kind: chat.SourcePage}}
	run(group, "memory", `{"action":"write","content":"meets on Fridays"}`, "", "note 1")
	run(group, "memory", `{"action":"search","keywords":"friday"}`, "", "(安, after reading text from outside)")
	run(group, "memory", `{"action":"read"}`, "", "1 of 1")
	// Such a note may hold words of others, and is read as such; a clean one is not.
	group.Sources = nil
	for sc, want := range map[*tools.Scope]bool{&group: true, &ann: false} {
		for tool, args := range map[string]string{"memory_read": `{}`, "memory_search": `{"keywords":"meets works"}`} {
			res := e.Run(t.Context(), *sc, tool, args)
			if (len(res.Sources) == 1 && res.Sources[0] == chat.Source{Kind: chat.SourcePage, Via: "note 1 2026-11-21"}) != want {
				t.Errorf("%s has the sources %v", tool, res.Sources)
			}
			if res.Untrusted != want || strings.HasPrefix(res.Text, "<outside from=") != want {
				t.Errorf("%s of %s: untrusted %v, %q", tool, sc.Addr.Chat, res.Untrusted, res.Text)
			}
		}
	}
	run(group, "memory", `{"action":"search"}`, tools.InvalidArgs, "keywords")
}

func TestConformance(t *testing.T) {
	for i, args := range []string{`{"content":"a"}`, `{"keywords":"a"}`, `{"recent_count":3}`, `{"action":"write","content":"b"}`} {
		all := notes.Tools{Store: memory.New(new(kv.Memory), nil)}.All()
		tooltest.Run(t, all[i], &tooltest.Options{Good: []string{args}})
	}
}

// Who forbids one of the tools has forbidden it in the other notation, too.
func TestMemoryObeysRulesOfItsParts(t *testing.T) {
	for name, opt := range map[string]tools.Options{
		"policy":  {Policy: policy(t, tools.Rule{Tool: "memory_write", Action: tools.Deny})},
		"pattern": {Policy: policy(t, tools.Rule{Tool: "memory_w*", Action: tools.Deny})},
		"enabled": {Enabled: []string{"*", "-memory_write"}},
		"allowed": {Policy: policy(t, tools.Rule{Tool: "memory_read", Action: tools.Allow}, tools.Rule{Tool: "memory*", Action: tools.Deny})},
	} {
		t.Run(name, func(t *testing.T) {
			reg := &tools.Registry{}
			store := memory.New(new(kv.Memory), time.Now)
			if err := reg.RegisterAll(notes.Tools{Store: store}.All()...); err != nil {
				t.Fatal(err)
			}
			sc := tools.Scope{Addr: chat.Address{Channel: "test", Chat: "1"}, Direct: true, Sender: chat.Sender{ID: "ann"}, Zone: time.UTC}
			got := tools.NewExecutor(reg, &opt).Run(t.Context(), sc, "memory", `{"action":"write","content":"x"}`)
			if got.OK {
				t.Errorf("written: %s", got.Text)
			}
		})
	}
}

func policy(t *testing.T, rules ...tools.Rule) *tools.Policy {
	t.Helper()
	p, err := tools.NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
