package openai

import (
	"encoding/json"
	"strings"

	"magpie/agent/llm"
)

// calls gathers tool calls from pieces that say more or less well which call
// they belong to.
type calls struct {
	open []*openCall
}

type openCall struct {
	index int // -1 when the server numbers nothing
	id    string
	name  string
	args  strings.Builder
}

func (c *openCall) complete() bool { return json.Valid([]byte(c.args.String())) }

// add takes one piece.
func (cs *calls) add(d callDelta) {
	args := string(d.Function.Arguments)
	c := cs.find(d)
	if c == nil || !continues(c, d) {
		c = &openCall{index: -1}
		if d.Index != nil {
			c.index = *d.Index
		}
		cs.open = append(cs.open, c)
	}
	if c.id == "" {
		c.id = d.ID
	}
	if d.Function.Name != c.name { // not the whole name once more
		c.name += d.Function.Name
	}
	c.args.WriteString(args)
}

// find returns the call that the piece names by its id or number; without
// either, the newest.
func (cs *calls) find(d callDelta) *openCall {
	var byID, byIndex, newest *openCall
	for _, c := range cs.open {
		newest = c
		if d.ID != "" && c.id == d.ID {
			byID = c
		}
		if d.Index != nil && c.index == *d.Index {
			byIndex = c
		}
	}
	switch {
	case d.Index != nil:
		return byIndex
	case byID != nil:
		return byID
	default:
		return newest
	}
}

// continues says whether the piece goes on with call c, or begins another one
// under the same number, or under none.
func continues(c *openCall, d callDelta) bool {
	name, args := d.Function.Name, d.Function.Arguments
	switch {
	case name == "", c.name == "": // even under a new id: some servers make one up for every piece
		return true
	case d.ID != "" && c.id != "":
		return d.ID == c.id
	case c.complete():
		return name == c.name && args == ""
	default:
		return name == c.name || d.Index != nil
	}
}

// list returns the calls in the order in which they began.
func (cs *calls) list() []llm.Call {
	var out []llm.Call
	for _, c := range cs.open {
		args := c.args.String()
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		if c.name != "" || c.id != "" || args != "{}" {
			out = append(out, llm.Call{ID: c.id, Name: c.name, Args: args})
		}
	}
	return out
}
