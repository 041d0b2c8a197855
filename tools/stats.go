package tools

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Stats counts calls since the start of the process.
type Stats struct {
	Total      Count
	Unknown    int // calls of tools that do not exist; part of Total
	Categories map[Category]Count
	Tools      map[string]ToolStats
}

// Count counts calls.
type Count struct{ Calls, Failures int }

// ToolStats is what was counted of one tool.
type ToolStats struct {
	Count
	Category Category
	Average  time.Duration // over all calls
	P95      time.Duration // over the last 256 calls
}

// window is how many durations of a tool are kept for its 95th percentile.
const window = 256

type stats struct {
	mu      sync.Mutex
	unknown Count
	tools   map[string]*counter
}

type counter struct {
	Count
	category Category
	sum      time.Duration
	last     [window]time.Duration // a ring; Calls says where it stands
}

func (s *stats) add(e *entry, ok bool, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e == nil {
		s.unknown.count(ok)
		return
	}
	c := s.tools[e.spec.Name]
	if c == nil {
		if s.tools == nil {
			s.tools = map[string]*counter{}
		}
		c = &counter{category: e.spec.Category}
		s.tools[e.spec.Name] = c
	}
	c.last[c.Calls%window] = took
	c.sum += took
	c.count(ok)
}

func (c *Count) count(ok bool) {
	c.Calls++
	if !ok {
		c.Failures++
	}
}

func (c Count) plus(d Count) Count { return Count{c.Calls + d.Calls, c.Failures + d.Failures} }

func (s *stats) snapshot() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Stats{Total: s.unknown, Unknown: s.unknown.Calls, Categories: map[Category]Count{}, Tools: map[string]ToolStats{}}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		c := s.tools[name]
		out.Total = out.Total.plus(c.Count)
		out.Categories[c.category] = out.Categories[c.category].plus(c.Count)
		out.Tools[name] = ToolStats{Count: c.Count, Category: c.category, Average: c.sum / time.Duration(c.Calls), P95: c.p95()}
	}
	return out
}

// p95 is the smallest duration that at least 95 of 100 calls did not exceed.
func (c *counter) p95() time.Duration {
	sorted := slices.Sorted(slices.Values(c.last[:min(c.Calls, window)]))
	return sorted[(len(sorted)*95+99)/100-1]
}
