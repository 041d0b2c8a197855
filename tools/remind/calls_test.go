package remind_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/tools"
	"magpie/tools/remind"
)

// noted is a desk that notes what it is asked for.
type noted struct {
	*desk.Desk
	ask  *desk.Ask
	did  []intent.Intent
	keys []string
	msgs []desk.Message
	says func(desk.Message) (desk.Said, bool, error)
	err  error
}

func (n *noted) Make(_ context.Context, _ desk.Who, a desk.Ask) (desk.Said, error) {
	n.ask = &a
	n.keys = append(n.keys, a.Key)
	return desk.Said{Text: "made", Jobs: []cron.Job{{ID: "abc"}}, Buttons: [][]desk.Button{{{Label: "Cancel", Press: "x"}}}}, n.err
}

func (n *noted) Do(_ context.Context, _ desk.Who, in intent.Intent, m desk.Message) (desk.Said, error) {
	n.did, n.keys, n.msgs = append(n.did, in), append(n.keys, m.Key), append(n.msgs, m)
	return desk.Said{Text: "done", Jobs: []cron.Job{{ID: "abc"}}}, n.err
}

func (n *noted) Say(_ context.Context, _ desk.Who, m desk.Message) (desk.Said, bool, error) {
	n.msgs = append(n.msgs, m)
	if n.says == nil {
		return desk.Said{}, false, nil
	}
	return n.says(m)
}

// calls runs the tool on a desk that notes.
func calls(t *testing.T, n *noted, o *remind.Options) func(sc tools.Scope, args string) tools.Result {
	t.Helper()
	n.Desk = newDesk(store(t))
	reg := &tools.Registry{}
	if err := reg.Register(remind.Tool(n, o)); err != nil {
		t.Fatal(err)
	}
	exec := tools.NewExecutor(reg, nil)
	return func(sc tools.Scope, args string) tools.Result {
		n.ask, n.did, n.keys, n.msgs = nil, nil, nil, nil
		sc.CallID = "turn:1.0"
		return exec.Run(t.Context(), sc, "cron", args)
	}
}

// What models call is what they mean, also where a small one gets the form
// wrong.
func TestCallsOfModels(t *testing.T) {
	change := func(op intent.Op, ref intent.Ref) intent.Intent {
		return intent.Intent{Kind: intent.Change, Op: op, Ref: ref}
	}
	with := func(in intent.Intent, edit func(*intent.Intent)) []intent.Intent {
		edit(&in)
		return []intent.Intent{in}
	}
	two, milk, rang := intent.Ref{Number: 2}, intent.Ref{Words: "milk"}, intent.Ref{Rang: true}
	list := []intent.Intent{{Kind: intent.Query, What: intent.AskList}}
	later := func(d time.Duration) []intent.Intent {
		return with(change(intent.Snooze, rang), func(in *intent.Intent) { in.Shift.Exact = d })
	}
	for args, want := range map[string][]intent.Intent{
		`{"action":"list"}`: list, `{"action":"show"}`: list, `{"operation":" LIST "}`: list, `{"action":"list","job_id":null,"schedule":"","every_seconds":null}`: list, `{"action":"list_reminders"}`: list, `{"action":"list_all"}`: list, `{"action":"列表"}`: list,
		`{"action":"remove","job_id":"2"}`: {change(intent.Remove, two)}, `{"action":"delete","id":2}`: {change(intent.Remove, two)},
		`{"action":"cancel","reminder_id":"#2"}`: {change(intent.Remove, two)}, `{"action":"delete_reminder","job":"\"milk\""}`: {change(intent.Remove, milk)},
		`{"action":"remove","job_id":"all"}`: {change(intent.Remove, intent.Ref{All: true})}, `{"action":"删除","job_id":"2"}`: {change(intent.Remove, two)}, `{"action":"fly","job_id":"2"}`: nil,
		`{"action":"delete_all_reminders"}`: {change(intent.Remove, intent.Ref{All: true})}, `{"action":"pause_all"}`: {change(intent.Pause, intent.Ref{All: true})},
		`{"action":"remove","job_ids":[1,3]}`: {change(intent.Remove, intent.Ref{Words: "1, 3"})}, `{"action":"remove","job_id":["milk","gym"]}`: {change(intent.Remove, intent.Ref{Words: "milk, gym"})},
		`{"action":"pause","job_id":"the second one"}`: {change(intent.Pause, two)}, `{"action":"pause","job_id":"第2个"}`: {change(intent.Pause, two)},
		`{"action":"pause","job_id":"it"}`: {change(intent.Pause, intent.Ref{Last: true})}, `{"action":"resume","job_id":"milk"}`: {change(intent.Resume, milk)},
		`{"action":"skip","job_id":2}`: {change(intent.Skip, two)}, `{"action":"run_now","job_id":2}`: {change(intent.Run, two)},
		`{"action":"undo"}`: {change(intent.Undo, intent.Ref{})}, `{"action":"done"}`: {change(intent.Done, intent.Ref{})}, `{"action":"complete","job_id":"milk"}`: {change(intent.Done, milk)},
		`{"action":"stopwatch","message":"Start"}`:      {{Kind: intent.Query, What: intent.AskWatch, Watch: "start"}},
		`{"action":"stopwatch"}`:                        {{Kind: intent.Query, What: intent.AskWatch}},
		`{"action":"stopwatch","message":"fly"}`:        nil,
		`{"action":"snooze"}`:                           {change(intent.Snooze, rang)},
		`{"action":"snooze","schedule":"10 minutes"}`:   later(10 * time.Minute),
		`{"action":"snooze","minutes":10}`:              later(10 * time.Minute),
		`{"action":"snooze","duration":10}`:             later(10 * time.Minute),
		`{"action":"postpone","every_seconds":600}`:     later(10 * time.Minute),
		`{"action":"snooze","schedule":"in 2 hours"}`:   later(2 * time.Hour),
		`{"action":"snooze","schedule":"半小时"}`:          later(30 * time.Minute),
		`{"action":"snooze","until":"tomorrow at 9am"}`: with(change(intent.Snooze, rang), func(in *intent.Intent) { in.Time = "tomorrow at 9am" }),
		`{"action":"snooze","job_id":"milk","schedule":"1 hour"}`: with(change(intent.Snooze, milk), func(in *intent.Intent) {
			in.Shift.Exact = time.Hour
		}),
		`{"action":"update","job_id":2,"schedule":"5pm"}`:                           with(change(intent.Move, two), func(in *intent.Intent) { in.Time = "5pm" }),
		`{"action":"reschedule","id":"milk","new_time":"5pm","tz":"Europe/Berlin"}`: with(change(intent.Move, milk), func(in *intent.Intent) { in.Time = "5pm Europe/Berlin" }),
		`{"action":"move","job_id":2,"at":"2026-11-25T17:00"}`:                      with(change(intent.Move, two), func(in *intent.Intent) { in.Time = "2026-11-25T17:00" }),
		`{"action":"update","job_id":2,"at":"5pm"}`:                                 with(change(intent.Move, two), func(in *intent.Intent) { in.Time = "5pm" }),
		`{"action":"update","job_id":2,"cron_expr":"0 9 * * 1"}`:                    with(change(intent.Move, two), func(in *intent.Intent) { in.Time = "0 9 * * 1" }),
		`{"action":"update","job_id":2,"every_seconds":600}`:                        with(change(intent.Move, two), func(in *intent.Intent) { in.Time = "every 600 seconds" }),
		`{"action":"edit","job_id":2,"text":"buy oat milk"}`:                        with(change(intent.Text, two), func(in *intent.Intent) { in.Text = "buy oat milk" }),
		`{"action":"rename","job_id":2,"new_name":"Oats"}`:                          with(change(intent.Rename, two), func(in *intent.Intent) { in.Text = "Oats" }),
		`{"action":"update","job_id":2,"message":"x","schedule":"5pm","name":"N"}`: {
			{Kind: intent.Change, Op: intent.Move, Ref: two, Time: "5pm"},
			{Kind: intent.Change, Op: intent.Text, Ref: intent.Ref{Words: "abc"}, Text: "x"},
			{Kind: intent.Change, Op: intent.Rename, Ref: intent.Ref{Words: "abc"}, Text: "N"},
		},
	} {
		n := &noted{}
		res := calls(t, n, nil)(ann, args)
		if d := cmp.Diff(want, n.did); d != "" || res.OK != (want != nil) {
			t.Errorf("%s: %s %q (-want +did):\n%s", args, res.Err, res.Text, d)
		}
		if want == nil && res.Err != tools.InvalidArgs {
			t.Errorf("%s is answered %s %q", args, res.Err, res.Text)
		}
		seen := map[string]bool{}
		for _, key := range n.keys {
			if seen[key] || !strings.HasPrefix(key, string(ann.Addr.Session())+":turn:1.0") {
				t.Errorf("%s: key %q of %q", args, key, n.keys)
			}
			seen[key] = true
		}
	}
}

// New reminders in the forms in which models ask for them.
func TestAddsOfModels(t *testing.T) {
	for args, want := range map[string]desk.Ask{
		`{"action":"add","message":"drink","schedule":"in 20 minutes"}`:                                                   {Message: "drink", Schedule: "in 20 minutes"},
		`{"action":"create","text":"drink","time":"in 20 minutes","mode":null,"tz":""}`:                                   {Message: "drink", Schedule: "in 20 minutes"},
		`{"message":"drink","schedule":"in 20 minutes"}`:                                                                  {Message: "drink", Schedule: "in 20 minutes"},
		`{"action":"set","message":"drink","at":"tomorrow at 3pm"}`:                                                       {Message: "drink", Schedule: "tomorrow at 3pm"},
		`{"action":"add","message":"drink","at":"every day at 9am"}`:                                                      {Message: "drink", Schedule: "every day at 9am"},
		`{"action":"add","message":"drink","at":"2026-11-24T15:00"}`:                                                      {Message: "drink", At: "2026-11-24T15:00"},
		`{"action":"add","message":"tomorrow at 3pm call mum"}`:                                                           {Schedule: "tomorrow at 3pm call mum"},
		`{"action":"add","message":"明天下午三点开会","schedule":"","at":"","cron_expr":"","every_seconds":0}`:                    {Schedule: "明天下午三点开会"},
		`{"action":"add","message":"drink","every_seconds":"90"}`:                                                         {Message: "drink", Every: 90 * time.Second},
		`{"action":"add","message":"drink","every":"day at 9am"}`:                                                         {Message: "drink", Schedule: "every day at 9am"},
		`{"action":"add","message":"drink","schedule":"every 90s","every_seconds":90}`:                                    {Message: "drink", Schedule: "every 90s"},
		`{"action":"add","message":"drink","schedule":"tomorrow at 3pm","at":"2026-11-24T15:00"}`:                         {Message: "drink", Schedule: "tomorrow at 3pm"},
		`{"action":"add","message":"drink","schedule":"every day at 9am","cron_expr":"0 9 * * *"}`:                        {Message: "drink", Schedule: "every day at 9am"},
		`{"action":"add","message":"drink","schedule":"tomorrow at 3pm","every_seconds":0,"at":null}`:                     {Message: "drink", Schedule: "tomorrow at 3pm"},
		`{"action":"add","message":42,"schedule":"in 1 hour","mode":"agent","misfire":"skip","tz":"Asia/Tokyo","name":7}`: {Message: "42", Name: "7", Schedule: "in 1 hour", Mode: "agent", Misfire: "skip", Zone: "Asia/Tokyo"},
	} {
		n := &noted{}
		res := calls(t, n, nil)(ann, args)
		if n.ask == nil || !res.OK {
			t.Errorf("%s: %s %q", args, res.Err, res.Text)
			continue
		}
		if want.Mode == "" {
			want.Mode = "notify"
		}
		want.Key = string(ann.Addr.Session()) + ":turn:1.0"
		if d := cmp.Diff(want, *n.ask); d != "" {
			t.Errorf("%s (-want +asked):\n%s", args, d)
		}
	}
}

// What cannot be meant is refused with what would be right.
func TestWrongCallsOfModels(t *testing.T) {
	for args, want := range map[string]string{
		`{"action":"remove"}`:                      "Give job_id",
		`{"action":"update","schedule":"5pm"}`:     "Give job_id",
		`{"action":"update","job_id":2}`:           "schedule, message or name",
		`{"action":"fly","job_id":2}`:              `"snooze"`,
		`{"job_id":2}`:                             "action: required",
		`{"action":"add","job_id":true}`:           "job_id: want string",
		`{"action":"say","said":"remind me at 9"}`: "has not said this",
	} {
		n := &noted{}
		res := calls(t, n, nil)(ann, args)
		if res.OK || !strings.Contains(res.Text, want) || n.did != nil || n.ask != nil {
			t.Errorf("%s: %s %q, did %+v", args, res.Err, res.Text, n.did)
		}
	}
}

// What the person has said is handed on word by word, and nothing else is.
func TestSay(t *testing.T) {
	n := &noted{}
	call := calls(t, n, nil)
	sc := ann
	sc.Said = "hello\nremind me  tomorrow at 3pm\nto call mum"
	const args = `{"action":"say","said":"remind me tomorrow at 3pm to call mum"}`
	if res := call(sc, args); res.Err != tools.NotFound || len(n.msgs) != 1 || n.msgs[0].Text != "remind me tomorrow at 3pm to call mum" {
		t.Errorf("not the desk's: %s %q, told %+v", res.Err, res.Text, n.msgs)
	}
	n.says = func(desk.Message) (desk.Said, bool, error) {
		return desk.Said{Text: "which one?", Asked: true, Buttons: [][]desk.Button{{{Label: "1", Press: "p"}}}}, true, nil
	}
	want := tools.Buttons{Action: remind.Action, Rows: [][]tools.Button{{{Label: "1", Press: "p"}}}}
	if res := call(sc, args); !res.OK || res.Text != "which one?\n[The person is asked this.]" || !cmp.Equal(res.Buttons, want) {
		t.Errorf("%+v", res)
	}
	for _, said := range []string{"", "remind me tomorrow at 4pm to call mum"} {
		if res := call(sc, `{"action":"say","said":"`+said+`"}`); said != "" && (res.Err != tools.NotFound || n.msgs != nil) {
			t.Errorf("%q is handed on: %+v", said, n.msgs)
		}
	}
	job := ann // a job says nothing
	job.FromJob = true
	if res := call(job, args); res.Err != tools.NotFound || n.msgs != nil {
		t.Errorf("a job: %s %q", res.Err, res.Text)
	}
	n.says = func(desk.Message) (desk.Said, bool, error) {
		return desk.Said{}, true, &desk.Refusal{Kind: desk.Forbidden, Text: "not yours"}
	}
	if res := call(sc, args); res.Err != tools.Permission || !strings.Contains(res.Text, "not yours") {
		t.Errorf("a refusal: %+v", res)
	}
}

// An answer to the open question is one whatever the model makes of it.
func TestReplyGoesFirst(t *testing.T) {
	n := &noted{says: func(m desk.Message) (desk.Said, bool, error) { return desk.Said{Text: "removed"}, m.Text == "yes", nil }}
	call := calls(t, n, nil)
	sc := ann
	sc.Said = "yes"
	if res := call(sc, `{"action":"remove","job_id":"all"}`); res.Text != "removed" || n.did != nil || !strings.HasSuffix(n.msgs[0].Key, ":reply") || !n.msgs[0].Answer {
		t.Errorf("%+v, did %+v", res, n.did)
	}
	sc.Said = "no idea"
	if res := call(sc, `{"action":"remove","job_id":"all"}`); res.Text != "done" || len(n.did) != 1 {
		t.Errorf("%+v, did %+v", res, n.did)
	}
	sc.Said = "yes"
	if res := call(sc, `{"action":"list"}`); res.Text != "done" || n.did[0].What != intent.AskList {
		t.Errorf("%+v, did %+v", res, n.did)
	}
}

// A reply to a message of the bot means the job that the message is about.
func TestReplyMeansAJob(t *testing.T) {
	n, made := &noted{}, map[string][]cron.Job{}
	call := calls(t, n, &remind.Options{
		About: func(_ context.Context, a chat.Address, id string) string {
			return map[string]string{"qq/group:1#t/77": "abc"}[a.String()+"/"+id]
		},
		Made: func(_ context.Context, turn string, jobs []cron.Job) { made[turn] = jobs },
	})
	sc := ann
	sc.Reply, sc.Turn = "77", "s:5"
	if res := call(sc, `{"action":"remove"}`); !res.OK || n.msgs[0].Reply != "abc" || len(made["s:5"]) != 1 {
		t.Errorf("%+v, told %+v, made %+v", res, n.msgs, made)
	}
	sc.Reply = "78"
	if res := call(sc, `{"action":"remove"}`); res.Err != tools.InvalidArgs || n.did != nil {
		t.Errorf("%+v", res)
	}
}

// A turn of a job ends what is over; it makes and changes nothing.
func TestActionsOfAJob(t *testing.T) {
	job := ann
	job.FromJob = true
	for action, want := range map[string]tools.ErrorKind{
		"list": "", "remove": "", "pause": "", "skip": "", "done": "",
		"add": tools.Permission, "update": tools.Permission, "resume": tools.Permission, "run": tools.Permission, "snooze": tools.Permission, "undo": tools.Permission,
	} {
		n := &noted{}
		if res := calls(t, n, nil)(job, `{"action":"`+action+`","job_id":"2","message":"x","schedule":"in 1 hour"}`); res.Err != want {
			t.Errorf("%s: %s %q", action, res.Err, res.Text)
		}
	}
	if n := (&noted{err: errors.New("table is gone")}); calls(t, n, nil)(ann, `{"action":"undo"}`).Err != tools.Failed {
		t.Error("an error of the store is no failure")
	}
}

// A time that contradicts the person's words is refused before anything is
// made; one that they leave open is said back.
func TestJudgedCalls(t *testing.T) {
	for _, k := range []struct {
		said, args string
		kind       tools.ErrorKind
		want       []string
	}{
		{"remind me tomorrow at 3pm to call mum", `{"action":"add","message":"call mum","schedule":"tomorrow at 3pm"}`, "", []string{"made"}},
		{
			"remind me tomorrow at 3pm to call mum", `{"action":"add","message":"call mum","at":"2026-11-25T15:00"}`, tools.InvalidArgs,
			[]string{"words say Tue 2026-11-24 15:00", "says Wed 2026-11-25 15:00", "ask the person if neither fits"},
		},
		{"明天下午三点提醒我给妈妈打电话", `{"action":"add","message":"打电话","at":"2026-11-24T03:00"}`, tools.InvalidArgs, []string{"words say Tue 2026-11-24 15:00", "says Tue 2026-11-24 03:00"}},
		{"tomorrow at 8 I run", `{"action":"add","message":"run","at":"2026-11-24T20:00"}`, "", []string{"made", "tell them the date and the weekday: Tue 2026-11-24 20:00"}},
		{"tomorrow at 8 I run", `{"action":"add","message":"run","at":"2026-11-24T21:00"}`, tools.InvalidArgs, []string{"08:00", " or ", "20:00"}},
		{"erinnere mich morgen um acht", `{"action":"add","message":"run","at":"2026-11-24T08:00"}`, "", []string{"made", "Tue 2026-11-24 08:00"}},
		{"keep reminding me every 5 minutes until I say done to take the pill", `{"action":"add","message":"pill","schedule":"every 5 minutes until I say done"}`, "", []string{"made"}},
		{"keep reminding me every 5 minutes until I say done to take the pill", `{"action":"add","message":"pill","schedule":"every 5 minutes"}`, tools.InvalidArgs, []string{"every 5 minutes until I say done"}},
		{"9点提醒我吃药，每5分钟一次直到我完成", `{"action":"add","message":"吃药","schedule":"每5分钟提醒我直到我说完成"}`, "", []string{"made"}},
		{"wake me up in 30 minutes", `{"action":"snooze","schedule":"30 minutes"}`, "", []string{"done"}},
		{"wake me up in 30 minutes", `{"action":"snooze","schedule":"2 hours"}`, tools.InvalidArgs, []string{"11:00", "12:30"}},
		{"wake me up at 11:15", `{"action":"snooze","schedule":"at 11:30"}`, tools.InvalidArgs, []string{"11:15", "11:30"}},
	} {
		n := &noted{}
		sc := ann
		sc.Said = k.said
		res := calls(t, n, nil)(sc, k.args)
		if res.Err != k.kind || k.kind != "" && (n.ask != nil || n.did != nil) {
			t.Errorf("%q, %s: %s %q", k.said, k.args, res.Err, res.Text)
		}
		for _, want := range k.want {
			if !strings.Contains(res.Text, want) {
				t.Errorf("%q, %s: %q lacks %q", k.said, k.args, res.Text, want)
			}
		}
		if k.kind == "" && len(k.want) == 1 && strings.Contains(res.Text, "[") {
			t.Errorf("%q, %s: %q needs no note", k.said, k.args, res.Text)
		}
	}
}
