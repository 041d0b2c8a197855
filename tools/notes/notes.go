// Package notes holds the tools of the long-term memory: memory_write,
// memory_search, memory_read, and memory, which is the three in one for models
// that know it so. In a private chat they are about the person, in a group
// about the group. It starts no goroutine.
package notes

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"magpie/agent/memory"
	"magpie/tools"
)

//go:embed memory_write.md
var writeText string

//go:embed memory_search.md
var searchText string

//go:embed memory_read.md
var readText string

//go:embed memory.md
var memoryText string

// The defaults of the tools.
const (
	defaultRecent = 10
	maxShown      = 200 // notes in one answer
)

// Tools are the memory tools over one store.
type Tools struct{ Store *memory.Store }

// All makes the four tools.
func (t Tools) All() []tools.Tool {
	return []tools.Tool{t.write(), t.search(), t.read(), t.memory()}
}

func spec(name, text string, effect tools.Effect, aliases map[string]string) tools.Spec {
	return tools.Spec{
		Name: name, Description: strings.TrimSpace(text), Category: tools.System, Effect: effect, Aliases: aliases,
	}
}

func owner(sc tools.Scope) memory.Owner { return memory.Of(sc.Addr, sc.Sender, sc.Direct) }

type writeIn struct {
	Content string `json:"content" jsonschema:"What to remember, one fact in one line." rule:"minlen=1"`
}

func (t Tools) write() tools.Tool {
	s := spec("memory_write", writeText, tools.Writes, map[string]string{"text": "content", "note": "content", "memory": "content"})
	return tools.New(s, func(ctx context.Context, sc tools.Scope, in writeIn) (tools.Result, error) {
		return t.add(ctx, sc, in.Content)
	})
}

func (t Tools) add(ctx context.Context, sc tools.Scope, content string) (tools.Result, error) {
	source := cmp.Or(sc.Sender.Name, sc.Sender.ID, "unknown")
	e, err := t.Store.Add(ctx, owner(sc), source, sc.Guarded(content), sc.Sources...)
	switch {
	case errors.Is(err, memory.ErrEmpty):
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "content is empty; want one fact in one line")
	case errors.Is(err, memory.ErrTooLong):
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "content is longer than %d characters; want one fact in one line, several notes for several facts", memory.MaxText)
	case errors.Is(err, memory.ErrFull):
		return tools.Result{}, tools.Errorf(tools.Failed, "the memory is full: %d notes; a person can remove some with bot memory remove", memory.MaxEntries)
	case err != nil:
		return tools.Result{}, err
	}
	return tools.Result{Text: fmt.Sprintf("remembered as note %d", e.N)}, nil
}

type searchIn struct {
	Keywords   string `json:"keywords" jsonschema:"Words to look for, with blanks between them; Chinese or English." rule:"minlen=1"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"How many notes to show." rule:"min=1,max=100,default=15"`
	MatchMode  string `json:"match_mode,omitempty" jsonschema:"Whether any word is enough, or all must be there." rule:"enum=or|and,default=or"`
}

func (t Tools) search() tools.Tool {
	s := spec("memory_search", searchText, tools.Reads, map[string]string{"query": "keywords", "keyword": "keywords", "limit": "max_results", "mode": "match_mode"})
	return tools.New(s, func(ctx context.Context, sc tools.Scope, in searchIn) (tools.Result, error) {
		return t.find(ctx, sc, in)
	})
}

func (t Tools) find(ctx context.Context, sc tools.Scope, in searchIn) (tools.Result, error) {
	hits, err := t.Store.Search(ctx, owner(sc), memory.Query{Words: in.Keywords, All: in.MatchMode == "and", Max: in.MaxResults})
	if err != nil {
		return tools.Result{}, err
	}
	if len(hits) == 0 {
		return tools.Result{Text: fmt.Sprintf("no note has %q; memory_read shows the latest", in.Keywords)}, nil
	}
	entries := make([]memory.Entry, len(hits))
	for i, h := range hits {
		entries[i] = h.Entry
	}
	return result(list(sc, entries, 1), entries), nil
}

// result is an answer that shows notes. Of those that may hold words of others
// it is text from outside.
func result(text string, entries []memory.Entry) tools.Result {
	from := memory.Read(entries)
	return tools.Result{Text: text, Untrusted: len(from) > 0, Sources: from}
}

type readIn struct {
	StartLine   int `json:"start_line,omitempty" jsonschema:"First note to show, counted from 1, the oldest." rule:"min=1"`
	EndLine     int `json:"end_line,omitempty" jsonschema:"Last note to show." rule:"min=1"`
	RecentCount int `json:"recent_count,omitempty" jsonschema:"Without start_line and end_line: so many of the latest notes." rule:"min=1,max=200,default=10"`
}

func (t Tools) read() tools.Tool {
	s := spec("memory_read", readText, tools.Reads, map[string]string{"recent": "recent_count", "count": "recent_count", "start": "start_line", "end": "end_line"})
	return tools.New(s, func(ctx context.Context, sc tools.Scope, in readIn) (tools.Result, error) { return t.show(ctx, sc, in) })
}

func (t Tools) show(ctx context.Context, sc tools.Scope, in readIn) (tools.Result, error) {
	all, err := t.Store.List(ctx, owner(sc))
	switch {
	case err != nil:
		return tools.Result{}, err
	case len(all) == 0:
		return tools.Result{Text: "nothing is remembered yet"}, nil
	case in.EndLine > 0 && in.StartLine > in.EndLine:
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "start_line %d is behind end_line %d; want start_line ≤ end_line", in.StartLine, in.EndLine)
	case in.StartLine > len(all):
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "there are only %d notes; want start_line ≤ %d", len(all), len(all))
	}
	first, last := len(all)-cmp.Or(in.RecentCount, defaultRecent), len(all)
	if in.StartLine > 0 || in.EndLine > 0 {
		first = max(1, in.StartLine) - 1
		last = min(cmp.Or(in.EndLine, len(all)), first+maxShown)
	}
	first, last = max(0, first), min(last, len(all))
	text := fmt.Sprintf("notes %d to %d of %d\n%s", first+1, last, len(all), list(sc, all[first:last], first+1))
	return result(text, all[first:last]), nil
}

// list writes notes, numbered from a number on.
func list(sc tools.Scope, entries []memory.Entry, from int) string {
	var b strings.Builder
	for i, e := range entries {
		fmt.Fprintf(&b, "%d. [%s] %s", from+i, e.At.In(sc.Zone).Format("2006-01-02"), e.Text)
		source := e.Source
		if e.FromOutside() && !strings.HasSuffix(source, memory.Outside) {
			source += ", " + memory.Outside
		}
		if source != "" {
			fmt.Fprintf(&b, " (%s)", source)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type memoryIn struct {
	Action      string `json:"action" jsonschema:"What to do." rule:"enum=write|search|read"`
	Content     string `json:"content,omitempty" jsonschema:"For write: what to remember."`
	Keywords    string `json:"keywords,omitempty" jsonschema:"For search: words to look for."`
	MaxResults  int    `json:"max_results,omitempty" rule:"hidden,min=1,max=100,default=15"`
	MatchMode   string `json:"match_mode,omitempty" rule:"hidden,enum=or|and,default=or"`
	StartLine   int    `json:"start_line,omitempty" rule:"hidden,min=1"`
	EndLine     int    `json:"end_line,omitempty" rule:"hidden,min=1"`
	RecentCount int    `json:"recent_count,omitempty" rule:"hidden,min=1,max=200,default=10"`
}

func (t Tools) memory() tools.Tool {
	s := spec("memory", memoryText, tools.Writes, map[string]string{"text": "content", "query": "keywords"})
	s.For = []string{"memory_write", "memory_search", "memory_read"}
	return tools.New(s, func(ctx context.Context, sc tools.Scope, in memoryIn) (tools.Result, error) {
		switch in.Action {
		case "write":
			return t.add(ctx, sc, in.Content)
		case "search":
			if strings.TrimSpace(in.Keywords) == "" {
				return tools.Result{}, tools.Errorf(tools.InvalidArgs, "keywords is missing; want words to look for")
			}
			return t.find(ctx, sc, searchIn{in.Keywords, in.MaxResults, in.MatchMode})
		}
		return t.show(ctx, sc, readIn{in.StartLine, in.EndLine, in.RecentCount})
	})
}
