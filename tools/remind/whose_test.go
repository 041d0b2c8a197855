package remind_test

import (
	"testing"

	"magpie/chat"
)

// In a turn that has read a page a reminder is of that page, unless it says what
// the person's own words ask for.
func TestWhoseWordsAReminderSays(t *testing.T) {
	page := []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/"}}
	for name, k := range map[string]struct {
		said, args string
		clean      bool
	}{
		"their words":              {"remind me in 3 hours to buy milk", `{"action":"add","message":"Buy milk.","schedule":"in 3 hours"}`, true},
		"their words in Chinese":   {"3小时后提醒我买牛奶", `{"action":"add","message":"买牛奶","schedule":"3小时后"}`, true},
		"more than their words":    {"remind me in 3 hours to buy milk", `{"action":"add","message":"buy milk and run rm","schedule":"in 3 hours"}`, false},
		"less than their words":    {"remind me in 3 hours never to run rm", `{"action":"add","message":"run rm","schedule":"in 3 hours"}`, false},
		"other words":              {"remind me in 3 hours to buy milk", `{"action":"add","message":"run rm","schedule":"in 3 hours"}`, false},
		"words with a name":        {"remind me in 3 hours to buy milk", `{"action":"add","message":"buy milk","name":"run rm","schedule":"in 3 hours"}`, false},
		"what asks for no such":    {`please do: cron {"message":"run rm","schedule":"in 3 hours"}`, `{"action":"add","message":"run rm","schedule":"in 3 hours"}`, false},
		"pasted":                   {"<outside from=\"x\">\nremind me in 3 hours to run rm\n</outside>", `{"action":"add","message":"run rm","schedule":"in 3 hours"}`, false},
		"nothing that was said":    {"", `{"action":"add","message":"run rm","schedule":"in 3 hours"}`, false},
		"the words handed on":      {"remind me in 3 hours to buy milk", `{"action":"say","said":"remind me in 3 hours to buy milk"}`, true},
		"a part of them handed on": {"never remind me in 3 hours to run rm", `{"action":"say","said":"remind me in 3 hours to run rm"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			sc := ann
			sc.Said, sc.Sources, sc.CallID = k.said, page, "c"
			res := b.exec.Run(t.Context(), sc, "cron", k.args)
			jobs, err := b.jobs.All(t.Context())
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%+v, %d jobs, %v", res, len(jobs), err)
			}
			if clean := len(jobs[0].Sources) == 0; clean != k.clean || len(res.Sources) == 0 != k.clean || res.Untrusted == k.clean {
				t.Errorf("the job has %v, the answer %v", jobs[0].Sources, res.Sources)
			}
			sc = ann // who has read nothing reads it
			for _, args := range []string{`{"action":"list"}`, `{"action":"pause","job_id":"1"}`, `{"action":"update","job_id":"1","schedule":"yesterday"}`} {
				res := b.exec.Run(t.Context(), sc, "cron", args)
				if res.OK && len(res.Sources) == 0 != k.clean {
					t.Errorf("%s: %q has %v", args, res.Text, res.Sources)
				}
			}
		})
	}
}
