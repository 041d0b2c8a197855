package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/agent/memory"
)

// Memory keeps long-term notes.
type Memory interface {
	// List returns all notes of an owner, the oldest first.
	List(ctx context.Context, o memory.Owner) ([]memory.Entry, error)
	Search(ctx context.Context, o memory.Owner, q memory.Query) ([]memory.Hit, error)
	// Remove forgets a note; memory.ErrNone when there is none of that number.
	Remove(ctx context.Context, o memory.Owner, n int) (memory.Entry, error)
}

var _ Memory = (*memory.Store)(nil)

// What /memory shows at once: an answer of a few thousand characters.
const (
	maxNotes     = 20
	maxNoteShown = 300 // runes of one note
)

func memoryVerbs() [][]string {
	return [][]string{
		{"list", "ls", "show", "all", "列表", "查看", "全部"},
		{"search", "find", "搜索", "查找", "查询"},
		{"remove", "rm", "delete", "del", "forget", "删除", "删掉", "忘记"},
	}
}

// runMemory shows and removes notes: in a private chat the person's, in a
// group the group's and never a person's own, as the tools do.
func runMemory(ctx context.Context, s *Set, r *request) (string, error) {
	verb, rest := verbIn(memoryVerbs(), r.args)
	switch {
	case verb == "remove":
		return s.forget(ctx, r, rest)
	case rest != "":
		return s.searchNotes(ctx, r, rest)
	case verb == "search":
		return r.pick("What for? For example `/memory search tea`.", "搜索什么？例如 `/记忆 搜索 茶`。"), nil
	}
	all, err := s.ports.Memory.List(ctx, r.owner())
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return r.pick("I remember nothing here. Tell me what I shall remember.", "这里还没有任何记忆。您可以告诉我要记住什么。"), nil
	}
	shown := all[max(0, len(all)-maxNotes):]
	head := fmt.Sprintf(r.pick("Notes: %d. The latest:\n", "共有 %d 条记忆。最近的：\n"), len(all))
	return head + s.notes(r, shown) + r.pick("\n\n`/memory search tea` finds notes, `/memory remove 3` takes one away.", "\n\n`/记忆 搜索 茶` 查找，`/记忆 删除 3` 删除。"), nil
}

// owner is whose notes a command is about.
func (r *request) owner() memory.Owner { return memory.Of(r.d.Addr, r.d.From, r.d.Direct) }

func (s *Set) searchNotes(ctx context.Context, r *request, words string) (string, error) {
	hits, err := s.ports.Memory.Search(ctx, r.owner(), memory.Query{Words: words, Max: maxNotes})
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return fmt.Sprintf(r.pick("No note has %s. `/memory` shows the latest, `/memory remove 3` takes one away.", "没有含 %s 的记忆。`/记忆` 查看最近的，`/记忆 删除 3` 删除。"), code(cut(words))), nil
	}
	var found []memory.Entry
	for _, h := range hits {
		found = append(found, h.Entry)
	}
	return r.pick("Notes that fit, the best first:\n", "找到的记忆，最相关的在前：\n") + s.notes(r, found), nil
}

// notes writes notes, a line each, by their lasting numbers.
func (s *Set) notes(r *request, all []memory.Entry) string {
	zone := s.ports.Settings.Zone(r.set)
	r.sources = memory.Read(all)
	var b strings.Builder
	for _, e := range all {
		text := []rune(e.Text)
		if len(text) > maxNoteShown {
			text = append(slices.Clone(text[:maxNoteShown]), '…')
		}
		fmt.Fprintf(&b, "\n- **%d** (%s", e.N, e.At.In(zone).Format(time.DateOnly))
		if e.Source != "" {
			b.WriteString(", " + code(cut(e.Source)))
		}
		if e.FromOutside() && !strings.HasSuffix(e.Source, memory.Outside) {
			b.WriteString(r.pick(", after reading text from outside", "，读过外部内容后写下"))
		}
		b.WriteString(") " + code(string(text)))
	}
	return b.String()
}

// forget removes a note. Those of a group are everybody's, so an admin does it.
func (s *Set) forget(ctx context.Context, r *request, number string) (string, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.Map(narrow, number), "#"))
	if err != nil || n < 1 {
		return r.pick("Which one? Write its number, for example `/memory remove 3`; `/memory` shows the numbers.", "删除哪一条？请写编号，例如 `/记忆 删除 3`；`/记忆` 可查看编号。"), nil
	}
	if !r.d.Direct && !s.admin(r) {
		return r.pick("In a group only an admin can remove notes.", "在群里只有管理员可以删除记忆。"), nil
	}
	e, err := s.ports.Memory.Remove(ctx, r.owner(), n)
	if errors.Is(err, memory.ErrNone) {
		return fmt.Sprintf(r.pick("There is no note %d; `/memory` shows the numbers.", "没有编号为 %d 的记忆；`/记忆` 可查看编号。"), n), nil
	}
	if err != nil {
		return "", err
	}
	r.sources = memory.Read([]memory.Entry{e})
	return fmt.Sprintf(r.pick("Forgotten: %s", "已忘记：%s"), code(cut(e.Text))), nil
}
