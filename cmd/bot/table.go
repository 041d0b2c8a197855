package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// query is an operation whose answer is shown.
type query struct {
	name   string
	in     any
	answer any          // where the answer goes
	print  func() error // shows it to people; nil = JSON for them too
}

// show carries out an operation and prints its answer, to people or as JSON.
func (p *program) show(ctx context.Context, q query, asJSON bool) error {
	p.started = true
	var raw json.RawMessage
	if err := p.operate(ctx, q.name, q.in, &raw); err != nil {
		return err
	}
	if asJSON || q.print == nil {
		return p.printJSON(raw)
	}
	if err := json.Unmarshal(raw, q.answer); err != nil {
		return fmt.Errorf("answer of the running bot: %w", err)
	}
	return q.print()
}

func (p *program) printJSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s\n", text)
	}
	return err
}

// table prints rows in columns under a head, or none when there are none.
func (p *program) table(none string, rows [][]string, head ...string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(p.out, none)
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			row[i] = plain(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return w.Flush()
}

// plain is a text without what could steer the terminal: names and texts come
// from outside.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) {
			return ' '
		}
		return c
	}, s)
}

// moment is a time for people; "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
