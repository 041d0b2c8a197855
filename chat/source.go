package chat

import (
	"slices"
	"time"
)

// Source is where words came from that nobody who may give orders has written.
// It goes wherever the words go: with a turn that has read them, and with what
// that turn writes, plans or starts.
type Source struct {
	Kind SourceKind `json:"kind"`
	// Name is the page's URL, the file's path, the server's or the person's
	// name; "" when nothing more is known.
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at,omitzero"` // when they were read first
	// Via is what kept them since, and brought them where they are now: a note,
	// a reminder or a task, with its number; "" when they came straight.
	Via string `json:"via,omitempty"`
}

// Through is sources with what brought them.
func Through(via string, sources []Source) []Source {
	through := slices.Clone(sources)
	for i := range through {
		through[i].Via = via
	}
	return through
}

// SourceKind says what sort of place it is.
type SourceKind string

// The kinds.
const (
	SourcePage    SourceKind = "page"    // of the web, search results too
	SourceServer  SourceKind = "server"  // an MCP server
	SourceFile    SourceKind = "file"    // of others, or written after reading others' words
	SourceCommand SourceKind = "command" // that has reached the network
	SourceOthers  SourceKind = "others"  // people who are not let in, quoted and forwarded words
	SourceTask    SourceKind = "task"    // the report of a background task
	SourceUnknown SourceKind = "unknown" // an older version noted only that there was one
)

// mostSources bounds how many are carried along; the oldest stay.
const mostSources = 20

// JoinSources is what stands in either, each once, the oldest first.
func JoinSources(a, b []Source) []Source {
	if len(b) == 0 {
		return a
	}
	all := append(slices.Clone(a), b...)
	slices.SortStableFunc(all, func(x, y Source) int { return x.At.Compare(y.At) })
	var joined []Source
	for _, s := range all {
		same := func(o Source) bool { return o.Kind == s.Kind && o.Name == s.Name }
		if len(joined) < mostSources && !slices.ContainsFunc(joined, same) {
			joined = append(joined, s)
		}
	}
	return joined
}
