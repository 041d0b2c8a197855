package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"magpie/chat"
)

const (
	workDelay = 4 * time.Second // a tool that takes less is not worth a word
	workEvery = 5 * time.Second
	workGrace = 5 * time.Second // as finalGrace, for a message that tells nothing else
	workRunes = 120
)

// work is what a turn's tools do just now, as far as it takes long.
type work struct {
	calls []workCall // in the order in which they began
	last  string     // what the latest of them has told
}

type workCall struct {
	id, name string
	since    time.Time
}

func (w *work) update(ev chat.Event) {
	switch {
	case ev.Kind == chat.ToolRequested && ev.Tool != nil:
		w.calls = append(w.calls, workCall{ev.Tool.CallID, ev.Tool.Name, time.Now()})
	case ev.Tool != nil && (ev.Kind == chat.ToolCompleted || ev.Kind == chat.ToolFailed):
		w.calls = slices.DeleteFunc(w.calls, func(c workCall) bool { return c.id == ev.Tool.CallID })
		w.last = ""
	case ev.Kind == chat.TurnProgress && len(w.calls) > 0:
		w.last = ev.Text
	case ev.Kind == chat.TurnGoesOn: // the wait was a person's
		for i := range w.calls {
			w.calls[i].since = time.Now()
		}
	}
}

// line says which tool runs, for how long, and what it has told last; "" while
// none takes long. It is code, so that nothing in it is a link or a mark.
func (w *work) line(now time.Time) string {
	if len(w.calls) == 0 || now.Sub(w.calls[0].since) < workDelay {
		return ""
	}
	text := fmt.Sprintf("%s · %s", w.calls[0].name, now.Sub(w.calls[0].since).Round(time.Second))
	if w.last != "" {
		text = w.last
	}
	text = strings.Map(func(c rune) rune {
		if c == '`' || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, text)
	if r := []rune(text); len(r) > workRunes {
		text = string(r[:workRunes]) + "…"
	}
	return "⏳ `" + text + "`"
}

// state is what is to be shown: what is written of the reply, and under it what
// is being done for it.
func (t *turn) state() (text string, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text = t.text
	if !t.waits && !t.d.limits.Grows {
		text = paragraphs(text, t.work.line(time.Now()))
	}
	return text, t.ended
}

func (t *turn) working() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.waits && !t.d.limits.Grows && t.work.line(time.Now()) != ""
}

// written is what there is of the reply itself.
func (t *turn) written() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}
