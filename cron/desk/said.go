package desk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// Said is what the desk answers.
type Said struct {
	Text    string
	Buttons [][]Button `json:",omitempty"` // rows
	Jobs    []cron.Job `json:",omitempty"` // made or changed, as they are now
	Asked   bool       `json:",omitempty"` // a question of this chat is open now
	// Sources are of the text from outside that Text may hold, by what it shows of
	// reminders.
	Sources []chat.Source `json:",omitempty"`
}

// Button is one under an answer.
type Button struct {
	Label string
	Press string // what Desk.Press reads
}

// Message is what somebody wrote.
type Message struct {
	Text string
	// Key is the same for a message that is handled again after a crash: it
	// changes nothing twice, and is answered the same.
	Key     string
	Reply   string        // id of the job whose confirmation or reminder it replies to; ""
	Prefix  string        // as Ask.Prefix
	Command bool          // behind a command: it asks for a reminder even without "remind me"
	Task    bool          // what it makes is work for the agent
	Answer  bool          // it counts only as the answer to the open question
	Named   []chat.Sender // whom it mentions
	For     cron.Person   // whose reminder it makes; nobody: that of who asks
	Calls   string        // the name that stands before what it makes
	Alone   bool          // nobody is there to be asked: a question is a refusal
	// Sources are, of what a question is about, Who.Sources of who is the reason
	// for it.
	Sources []chat.Source
}

// errNothing: the message wants nothing of the reminders.
var errNothing = errors.New("nothing of the reminders is wanted")

// Say does what a message wants of the reminders, or takes it as the answer to
// the open question of who wrote it. False when it is neither. What cannot be
// is a *Refusal.
func (d *Desk) Say(ctx context.Context, w Who, m Message) (said Said, mine bool, err error) {
	said, err = d.once(ctx, w, m.Key, func(seed string) (*deed, Said, error) { return d.hear(ctx, w, m, seed) })
	if errors.Is(err, errNothing) {
		return Said{}, false, nil
	}
	return said, true, err
}

// Do carries out an intent. What cannot be is a *Refusal.
func (d *Desk) Do(ctx context.Context, w Who, in intent.Intent, m Message) (Said, error) {
	return d.once(ctx, w, m.Key, func(seed string) (*deed, Said, error) {
		todo, said, err := d.meet(ctx, wish{w, in, m}, seed)
		if q, asks := errors.AsType[*question](err); asks && m.Alone {
			err = &Refusal{Kind: Unsure, Text: w.prompt(*q).Text}
		}
		return todo, said, err
	})
}

// meet turns an intent into what is to be done, or into an answer.
func (d *Desk) meet(ctx context.Context, w wish, seed string) (*deed, Said, error) {
	switch in := w.in; {
	case in.Kind == intent.Create:
		made, err := d.creating(w, seed)
		return made, Said{}, err
	case in.Kind == intent.Query:
		said, err := d.query(ctx, w)
		return nil, said, err
	case in.Kind == intent.Ask && in.Question != nil:
		return nil, Said{}, d.missing(ctx, w, seed)
	case in.Op == intent.Undo:
		undone, err := d.orAsk(ctx, w, seed)
		return undone, Said{}, err
	case in.Op == intent.Several && len(in.Acts) > 0:
		all, err := d.acting(ctx, w, seed)
		return all, Said{}, err
	case in.Op == intent.Several:
		return nil, Said{}, &Refusal{Kind: Unsure, Text: w.pick("these are several changes; please say one at a time", "这里有好几处更改，请一次只说一个")}
	case in.Kind == intent.Change:
		changed, err := d.changing(ctx, w, seed)
		if id := in.Ref.Words; in.Op == intent.Remove && w.Admin && errors.Is(err, cron.ErrNotFound) && d.removeDamaged(ctx, w.Who, id) {
			return nil, Said{Text: w.pick("Removed the damaged entry ", "已删除损坏的记录 ") + plain(id, maxShown)}, nil
		}
		return changed, Said{}, err
	}
	return nil, Said{}, &Refusal{Kind: Unsure, Text: w.pick("I did not understand what to do with the reminders", "没听懂要对提醒做什么")}
}

// press is what a button says.
type press struct {
	Do string `json:"do"` // an intent.Op, "answer", "edit", "time"
	ID string `json:"id"` // of the job, the change or the question
	In string `json:"in,omitempty"`
	N  int    `json:"n,omitempty"`
}

func button(label string, p press) Button {
	text, _ := json.Marshal(p) // of texts and a number: it cannot fail
	return Button{label, string(text)}
}

// DueButtons are those under a reminder that rings.
func (d *Desk) DueButtons(w Who, j cron.Job) [][]Button {
	snooze := func(en, zh, in string) Button {
		return button(w.pick(en, zh), press{Do: string(intent.Snooze), ID: j.ID, In: in})
	}
	return [][]Button{
		{button(w.pick("Done", "完成"), press{Do: string(intent.Done), ID: j.ID}), button(w.pick("Edit", "修改"), press{Do: "edit", ID: j.ID})},
		{snooze("10 min", "10 分钟", "10m"), snooze("1 hour", "1 小时", "1h"), snooze("Tomorrow", "明天", "day")},
	}
}

// Press does what a button under an answer or a due reminder says.
func (d *Desk) Press(ctx context.Context, w Who, pressed, key string) (Said, error) {
	var p press
	if err := json.Unmarshal([]byte(pressed), &p); err != nil || p.ID == "" {
		return Said{}, fmt.Errorf("a button of reminders says %.80q", pressed)
	}
	in := intent.Intent{Kind: intent.Change, Op: intent.Op(p.Do), Ref: intent.Ref{Words: p.ID}}
	if length, err := time.ParseDuration(p.In); err == nil {
		in.Shift = when.Span{Exact: length}
	} else if p.In != "" {
		in.Shift = when.Span{Days: 1}
	}
	return d.once(ctx, w, key, func(seed string) (*deed, Said, error) {
		switch p.Do {
		case "answer":
			return d.pressed(ctx, w, p, seed)
		case intent.AskMore:
			said, err := d.query(ctx, wish{Who: w, in: intent.Intent{What: intent.AskMore}})
			return nil, said, err
		case "time":
			return nil, Said{}, d.otherTime(ctx, w, p.ID)
		case string(edit):
			return nil, Said{}, d.editing(ctx, w, p.ID)
		case string(intent.Undo):
			undone, err := d.undoing(ctx, wish{Who: w}, p.ID, seed)
			return undone, Said{}, err
		}
		return d.meet(ctx, wish{Who: w, in: in}, seed)
	})
}

// record is what became of a message with a key. What is to be done is stored
// before it is done: afterwards "the second one" is somebody else.
type record struct {
	Deed *deed `json:",omitempty"`
	Said *Said `json:",omitempty"`
}

// maxKept is how many jobs an answer that is kept holds.
const maxKept = 4

// once answers a message. A question comes back from decide as an error.
func (d *Desk) once(ctx context.Context, w Who, key string, decide func(seed string) (*deed, Said, error)) (Said, error) {
	if key == "" {
		seed := strings.ToLower(rand.Text()[:20])
		todo, said, err := d.settle(ctx, w, seed, decide)
		if err == nil && todo != nil {
			said, err = d.carry(ctx, w, *todo)
		}
		said, err = d.sourced(ctx, w, said, err)
		return said, d.refuse(w, err)
	}
	seed := digest(string(w.Addr.Session()), w.person(), key)
	at := w.room("key", seed)
	r, err := recall[record](ctx, d.memory, at)
	if err == nil && r.Deed == nil && r.Said == nil {
		var todo *deed
		var said Said
		todo, said, err = d.settle(ctx, w, seed, decide)
		if said, err = d.sourced(ctx, w, said, err); err != nil {
			return Said{}, d.refuse(w, err)
		}
		r, err = remember(ctx, d.memory, at, answeredFor, func(r *record) {
			switch {
			case r.Deed != nil || r.Said != nil: // another process was faster
			case todo != nil:
				r.Deed = todo
			default:
				r.Said = &said
			}
		})
	}
	if err != nil {
		return Said{}, err
	}
	if r.Said != nil {
		return *r.Said, nil
	}
	said, err := d.carry(ctx, w, *r.Deed)
	if said, err = d.sourced(ctx, w, said, err); err != nil {
		return Said{}, d.refuse(w, err)
	}
	kept := said
	if len(kept.Jobs) > maxKept {
		kept.Jobs = nil
	}
	_, err = remember(ctx, d.memory, at, answeredFor, func(r *record) { r.Said = &kept })
	return said, err
}

// settle decides, and puts the question that the decision may be.
func (d *Desk) settle(ctx context.Context, w Who, seed string, decide func(string) (*deed, Said, error)) (*deed, Said, error) {
	todo, said, err := decide(seed)
	if q, asks := errors.AsType[*question](err); asks {
		n, _ := errors.AsType[noted](err)
		said, err = d.put(ctx, w, *q, seed)
		said.Text += n.note
		return nil, said, err
	}
	if todo != nil {
		todo.stain(w.Sources)
	}
	return todo, said, err
}
