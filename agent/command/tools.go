package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tool is what /tools shows of one tool.
type Tool struct {
	Name     string
	Category string
	About    string // its description; the first sentence is shown
	Calls    int
	Failures int
	Average  time.Duration
	P95      time.Duration // over the last calls
}

func runTools(_ context.Context, s *Set, r *request) (string, error) {
	all := s.ports.Tools(r.d)
	if len(all) == 0 {
		return r.pick("I have no tools here.", "这里没有可用的工具。"), nil
	}
	slices.SortStableFunc(all, func(a, b Tool) int { return strings.Compare(a.Category, b.Category) })
	var b strings.Builder
	total := sum(all, "")
	fmt.Fprintf(&b, r.pick("I can use %d tools here; calls since the start: %d, failed: %d.", "这里可以使用 %d 个工具；启动以来调用 %d 次，失败 %d 次。"),
		len(all), total.Calls, total.Failures)
	category := ""
	for _, t := range all {
		if t.Category != category {
			category = t.Category
			of := sum(all, category)
			fmt.Fprintf(&b, "\n\n**%s** (%d/%d)\n", plain(category), of.Calls, of.Failures)
		}
		fmt.Fprintf(&b, "\n- %s – %s", code(t.Name), sentence(t.About))
		if t.Calls > 0 {
			fmt.Fprintf(&b, r.pick(" (calls: %d, failed: %d, average %s, p95 %s)", "（调用 %d 次，失败 %d 次，平均 %s，p95 %s）"),
				t.Calls, t.Failures, t.Average.Round(time.Millisecond), t.P95.Round(time.Millisecond))
		}
	}
	return b.String(), nil
}

// sum adds up the calls of a category's tools, of all for "".
func sum(all []Tool, category string) (total Tool) {
	for _, t := range all {
		if category == "" || t.Category == category {
			total.Calls += t.Calls
			total.Failures += t.Failures
		}
	}
	return total
}

// maxSentence bounds what is shown of a description, in runes.
const maxSentence = 100

// sentence is the first sentence of a description.
func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if before, _, ok := strings.Cut(text, ". "); ok {
		text = before
	}
	text = strings.TrimSuffix(text, ".")
	if runes := []rune(text); len(runes) > maxSentence {
		text = string(runes[:maxSentence]) + "…"
	}
	return text
}
