// Package intent reads what a message wants of the reminders: a new one, a
// change, an answer about them, or nothing. It is pure, like cron/when: what
// is now, and where, is told by the caller.
package intent

import (
	"time"

	"magpie/cron/when"
)

// Kind is what a message wants.
type Kind string

// The kinds. The zero value wants nothing of the reminders.
const (
	None   Kind = ""
	Create Kind = "create"
	Change Kind = "change"
	Query  Kind = "query"
	Ask    Kind = "ask" // something is wanted, but not all of it is said: see Question
)

// Op is what is done to reminders that exist.
type Op string

// The operations.
const (
	Move   Op = "move"   // another time: Time or Shift
	Text   Op = "text"   // other words: Text
	Rename Op = "rename" // another name: Text
	Remove Op = "remove"
	Pause  Op = "pause"
	Resume Op = "resume"
	Skip   Op = "skip"   // the next time is left out
	Snooze Op = "snooze" // once more: Time or Shift; with neither, in ten minutes
	Repeat Op = "repeat" // again and again: Time
	Add    Op = "add"    // at another time too: Time
	Once   Op = "once"   // the next time, and never again
	Done   Op = "done"   // what rang is done
	Undo   Op = "undo"   // the last change is taken back
	Run    Op = "run"    // one delivery now
	End    Op = "end"    // what repeats gets an end: Time, as [when.ParseEnd] reads it
	// Several is more than one thing at once: Acts, without which nothing is done.
	Several Op = "several"
)

// What a Query asks for.
const (
	AskList   = "list"   // all, or those of From to To
	AskMore   = "more"   // what the list last shown had no room for
	AskNext   = "next"   // the next one
	AskMissed = "missed" // what came late or not at all
	AskLeft   = "left"   // how long until the one that is meant
	AskWhen   = "when"   // when the one that is meant comes
	AskWatch  = "watch"  // what the stopwatch shows, after Watch is done to it
)

// What an Undo takes back; any change without one of them.
const (
	UndoChange  = "change" // not what was made
	UndoRemoval = "kept"   // only what was removed
)

// MoreText is what a Text is whose words come behind those that there are.
const MoreText = "extend"

// Intent is what a message wants.
type Intent struct {
	Kind Kind
	Op   Op
	Ref  Ref
	// And are all reminders that a Change means, when they are several; But are
	// those that it does not mean, of all.
	And, But []Ref
	Acts     []Intent // of Several, each with what was Said
	Said     string
	Part     Part // of what repeats
	// Times are the times of a Create: one reminder for each.
	Times []when.Phrase
	// Text is what to be reminded of, or the new words.
	Text string
	// Old are the words of the reminder that the new ones of a Text replace; "" for
	// all of them.
	Old string
	// Time is a new time as it was said, for [when.Moved].
	Time string
	// Shift is how much later, or earlier if it is negative.
	Shift when.Span
	// Nag is how often a reminder comes again until it is done; 0 = once.
	Nag   time.Duration
	Timer bool // a timer: it needs no text
	Task  bool // work for the agent
	// Maybe says that the words may be about something else: without a reminder
	// that is meant they want nothing.
	Maybe bool
	// Asks says that a Change is asked about rather than wished: "can it be
	// cancelled?". It is done when that is confirmed.
	Asks bool
	// What, From and To say what a Query asks for, or an Undo takes back; the range is
	// half open. Of a
	// Remove and a Skip it is that of the times which are left out: all that come
	// in it, and no others. A Move with From changes what comes from then on.
	What     string
	Watch    string // "start", "restart", "stop", or none of them
	From, To time.Time
	// Days are those of the range that are meant, if not all are.
	Days     []time.Time
	Count    int // a Skip leaves out so many times
	Question *Question
}

// Ref says which reminders are meant. The zero value says nothing of it.
type Ref struct {
	ID       string // of a Known
	All      bool
	Last     bool      // the one last spoken of: "it", 刚才那个
	Rang     bool      // the one that rang last
	Paused   bool      // the one that is paused
	Number   int       // in the list as last shown; below 0 from its end: -1 is the last one. With Last: if nothing was spoken of since
	Words    string    // of its text or name; beside a Number, which then may be none of the list: "snooze 15"
	Clock    string    // "the 3pm one": as 15:00, several divided by "/"; a part of the day as 12:00-18:00
	Time     string    // the time that it was named by, as it was said
	From, To time.Time // those that come between: "everything tomorrow"
	Among
}

// Among says which of several are meant.
type Among struct {
	One   bool // only one of them
	Those bool // those last spoken of or shown together
	Order int  // 1 is the one that comes first of all, -1 the last. With Last: unless the one last spoken of repeats
}

// What a Question misses.
const (
	MissTime  = "time"  // no time is said, or Choices of it
	MissText  = "text"  // what to be reminded of
	MissRef   = "ref"   // which reminder
	MissSense = "sense" // a part of the words that is not understood
)

// Question asks for what is missing.
type Question struct {
	Missing string
	Text    when.Text
	// Choices are the readings of a time, each complete; empty when they cannot
	// be listed.
	Choices []when.Phrase
}

// Context is what the words are read with.
type Context struct {
	Now     time.Time
	Zone    *time.Location
	Command bool // the words stand behind a command: they ask for a reminder
	// Known returns the reminders that the words may be about; nil for none. It is
	// called when they may be about one.
	Known func() []Known
}
