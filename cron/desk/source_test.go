package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
)

var (
	page  = []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/"}}
	other = []chat.Source{{Kind: chat.SourceServer, Name: "b"}}
)

// read is a person in whose name asks who has read a page.
func read(w desk.Who, sources []chat.Source) desk.Who {
	w.Sources = sources
	return w
}

// sourced is where the words of the reminders come from, by what they say.
func (f *fixture) sourced(t *testing.T, want map[string][]chat.Source) {
	t.Helper()
	jobs, err := f.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]chat.Source{}
	for _, j := range jobs {
		if !j.Hidden {
			got[j.Message] = j.Sources
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What is made or changed keeps what its maker had read, also when somebody else
// answers the question in between; what only stops or leaves out does not.
func TestSourcesOfReminders(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		f := newFixture(t)
		f.ann.Lang = lang
		d := desk.New(f.jobs, f.notes)
		do := func(w desk.Who, in intent.Intent) desk.Said {
			t.Helper()
			in.Kind = intent.Change
			said, err := d.Do(t.Context(), w, in, desk.Message{})
			if err != nil {
				t.Fatalf("%+v: %v", in, err)
			}
			return said
		}
		say := func(w desk.Who, text string) desk.Said {
			t.Helper()
			said, mine, err := d.Say(t.Context(), w, desk.Message{Text: text})
			if err != nil || !mine {
				t.Fatalf("%q: %v %v", text, mine, err)
			}
			return said
		}
		f.add(t, read(f.ann, page), desk.Ask{At: "2026-11-26T07:00", Message: "run rm"})
		f.add(t, f.ann, desk.Ask{Schedule: "every day at 09:00", Message: "water plants"})
		f.add(t, f.ann, desk.Ask{Schedule: "every day at 10:00", Message: "water trees"})
		f.sourced(t, map[string][]chat.Source{"run rm": page, "water plants": nil, "water trees": nil})

		ref := func(words string) intent.Ref { return intent.Ref{Words: words} }
		do(read(f.ann, other), intent.Intent{Op: intent.Skip, Ref: ref("plants")})
		do(read(f.ann, other), intent.Intent{Op: intent.Pause, Ref: ref("trees")})
		do(read(f.ann, other), intent.Intent{Op: intent.Resume, Ref: ref("trees")})
		f.sourced(t, map[string][]chat.Source{"run rm": page, "water plants": nil, "water trees": nil})

		// Which one? It is the person who says so, and the model whose words they are.
		if said := do(read(f.ann, page), intent.Intent{Op: intent.Text, Ref: ref("water"), Text: "run it"}); !said.Asked || len(said.Sources) != 1 {
			t.Fatalf("%+v", said)
		}
		say(f.ann, "1")
		f.sourced(t, map[string][]chat.Source{"run rm": page, "run it": page, "water plants": nil})

		do(read(f.ann, other), intent.Intent{Op: intent.Move, Ref: ref("run rm"), Time: "2026-11-27T07:00"})
		f.sourced(t, map[string][]chat.Source{"run rm": append(page[:1:1], other...), "run it": page, "water plants": nil})
		do(f.ann, intent.Intent{Op: intent.Remove, Ref: ref("run it")})

		// A question what time is meant, put by a turn that has read, is answered by
		// who has not.
		if said := say(read(f.ann, page), "remind me tomorrow at 8 to run that"); !said.Asked || len(said.Sources) == 0 {
			t.Fatalf("%+v", said)
		}
		jobs, err := f.jobs.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if j.Hidden && len(j.Sources) == 0 {
				t.Errorf("what is said when nobody answers is clean: %q", j.Message)
			}
		}
		say(f.ann, "1")
		f.sourced(t, map[string][]chat.Source{"run rm": append(page[:1:1], other...), "run that": page, "water plants": nil})
	})
}

// What an answer shows of a reminder brings its sources; what shows others does
// not.
func TestSourcesOfAnswers(t *testing.T) {
	f := newFixture(t)
	d := desk.New(f.jobs, f.notes)
	job := f.add(t, read(f.ann, page), desk.Ask{At: "2026-11-26T07:00", Message: "run rm " + strings.Repeat("very ", 40) + "long"})
	clean := f.add(t, f.ann, desk.Ask{At: "2026-11-26T08:00", Message: "gym"})
	want := chat.Through("reminder "+job.Created.In(f.ann.Zone).Format(time.DateOnly), page)
	for _, k := range []struct {
		in   intent.Intent
		want []chat.Source
	}{
		{intent.Intent{Kind: intent.Query, What: intent.AskList}, want},
		{intent.Intent{Kind: intent.Query, What: intent.AskWhen, Ref: intent.Ref{Words: "gym"}}, nil},
		{intent.Intent{Kind: intent.Change, Op: intent.Pause, Ref: intent.Ref{Words: "gym"}}, nil},
		{intent.Intent{Kind: intent.Change, Op: intent.Pause, Ref: intent.Ref{Words: "run rm"}}, want},
		{intent.Intent{Kind: intent.Change, Op: intent.Remove, Ref: intent.Ref{All: true}}, want}, // really all of them?
		{intent.Intent{Kind: intent.Change, Op: intent.Remove, Ref: intent.Ref{Words: job.ID}}, want},
		{intent.Intent{Kind: intent.Query, What: intent.AskList}, nil},
	} {
		said, err := d.Do(t.Context(), f.ann, k.in, desk.Message{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(k.want, said.Sources); diff != "" {
			t.Errorf("%+v says %q (-want +got):\n%s", k.in, said.Text, diff)
		}
	}
	// A reminder that has rung is gone, and can still be named.
	rang := f.add(t, read(f.ann, page), desk.Ask{At: "2026-11-23T11:00", Message: "run rm"})
	if err := d.Rang(t.Context(), cron.Fired{Job: rang, Slot: rang.Schedule.At}); err != nil {
		t.Fatal(err)
	}
	if err := f.jobs.Remove(t.Context(), f.ann.Addr, rang.ID, cron.By{Admin: true}); err != nil {
		t.Fatal(err)
	}
	if named, err := d.Named(t.Context(), f.ann, "“run rm” was late"); err != nil || len(named) != 1 {
		t.Errorf("what rang: %v, %v", named, err)
	}
	_, err := d.Do(t.Context(), f.ann, intent.Intent{Kind: intent.Change, Op: intent.Move, Ref: intent.Ref{Words: clean.ID}, Time: "yesterday"}, desk.Message{})
	if r, ok := errors.AsType[*desk.Refusal](err); !ok {
		t.Errorf("%v", err)
	} else if named, err := d.Named(t.Context(), f.ann, r.Text); err != nil || len(named) != 0 {
		t.Errorf("a refusal about a clean one: %v, %v", named, err)
	}
}

// What is offered of a calendar file keeps the file.
func TestSourcesOfOffers(t *testing.T) {
	f := newFixture(t)
	d := desk.New(f.jobs, f.notes)
	file := []chat.Source{{Kind: chat.SourceFile, Name: "a.ics"}}
	said, err := d.Offer(t.Context(), f.ann, []cron.Job{{Message: "party", Schedule: cron.Schedule{At: f.now.Add(time.Hour)}, Sources: file}}, "")
	if err != nil || len(said.Sources) != 1 {
		t.Fatalf("%+v, %v", said, err)
	}
	if _, _, err := d.Say(t.Context(), f.ann, desk.Message{Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	f.sourced(t, map[string][]chat.Source{"party": file})
}
