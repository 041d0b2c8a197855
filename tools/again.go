package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Remembers is a Caller that keeps, for as long as its conversation goes on,
// which calls a person has allowed there: the same one is not asked about again
// as long as nothing else was changed that could make another of it.
type Remembers interface {
	// Allowed says whether the call of that digest was allowed.
	Allowed(ctx context.Context, digest string) bool
	// Allow notes that it was.
	Allow(ctx context.Context, digest string)
	// Changed forgets all that was allowed; after an error nothing may change.
	Changed(ctx context.Context) error
}

// digest is of everything for which a call is asked about: for whom it is, the
// tool, what it is given, what it would do with it, and what the turn has read.
func (c *call) digest(ctx context.Context) string {
	h := sha256.New()
	part := func(text string) {
		sum := sha256.Sum256([]byte(text))
		h.Write(sum[:])
	}
	part(c.scope.Sender.ID)
	part(c.entry.spec.Name)
	part(sorted(c.args))
	part(c.shows(ctx).Digest)
	var read []string
	for _, s := range c.scope.Sources {
		read = append(read, string(s.Kind)+" "+s.Name)
	}
	slices.Sort(read)
	for _, name := range read {
		part(name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sorted writes arguments so that the same are written the same.
func sorted(args json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(args)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(text)
}

// allowedBefore says whether a person has allowed the same in this conversation.
func (c *call) allowedBefore(ctx context.Context) bool {
	m, ok := c.scope.Caller.(Remembers)
	return ok && m.Allowed(ctx, c.digest(ctx))
}

// remember notes that a call is about to run that was allowed, or one that a
// person was not asked about: that may change what an allowed one would do, such
// as the script that it runs, or a variable that it sees.
func (c *call) remember(ctx context.Context, allowed bool) error {
	m, ok := c.scope.Caller.(Remembers)
	spec := c.entry.spec
	switch {
	case !ok || spec.Effect == Reads:
	case spec.Category == File, spec.Category == System, !allowed:
		return m.Changed(ctx)
	case c.scope.Tainted():
		m.Allow(ctx, c.digest(ctx))
	}
	return nil
}
