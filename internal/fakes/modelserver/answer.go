package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Answer says what the server does with a request. The zero Answer is an empty
// reply.
type Answer struct {
	Text     string
	Thinking string // reasoning before the text
	Calls    []Call
	Stop     string        // "" (end, or tools when there are calls), "length", "filter"
	Usage    Usage         // zero: four bytes a token
	Delay    time.Duration // before the first byte
	Pieces   Pieces        // how Text is streamed
	Fault    Fault
	// Status and Body, when one is set, are the whole answer, streamed or not.
	// A Status from 400 on without Body gets the error text that the vendor
	// sends with it.
	Status int
	Body   string
	Header map[string]string
}

// Pieces says how a text is streamed.
type Pieces struct {
	N     int             // how many; 0 = 3
	Pause time.Duration   // before every one but the first
	Hold  <-chan struct{} // when there is one, the last piece waits for its end
	Step  <-chan struct{} // when there is one, each piece takes one from it
}

// Usage counts tokens. Input includes what was read from and written to a
// cache, whatever the API.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
}

// Fault is a way in which an answer goes wrong.
type Fault int

// The faults. The first piece of a streamed answer is the first chunk of text.
const (
	None      Fault = iota
	Hang            // no byte until the client gives up
	Stall           // silence after the first piece
	Cut             // the connection is cut after the first piece
	Short           // the stream ends in good order after the first piece, without its end
	TooLong         // refused: the prompt does not fit
	NoBalance       // refused: the account has no money
)

// Echo answers "echo: " and the last user text.
func Echo(r Request) Answer { return Answer{Text: "echo: " + r.LastUser()} }

// Thinker answers like Echo, but thinks before it writes: a request that lets it
// write fewer tokens than need fails, as OpenAI's servers of reasoning models
// let it (400, "Could not finish the message …"; seen 2025).
func Thinker(need int) func(Request) Answer {
	return func(r Request) Answer {
		var limit struct {
			Old int `json:"max_tokens"`
			New int `json:"max_completion_tokens"`
		}
		_ = json.Unmarshal(r.Body, &limit) // it was read before
		if most := limit.Old + limit.New; most == 0 || most >= need {
			return Echo(r)
		}
		return Answer{Status: http.StatusBadRequest, Body: `{"error": {"message": "Could not finish the message because max_tokens or ` +
			`model output limit was reached. Please try again with higher max_tokens.", "type": "invalid_request_error", "param": null, "code": null}}`}
	}
}

// pieces cuts text into n parts that together are the text, cutting no rune.
func pieces(text string, n int) []string {
	if text == "" {
		return nil
	}
	runes := []rune(text)
	if n <= 0 {
		n = 3
	}
	n = min(n, len(runes))
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return out
}

// named gives every call an id.
func named(calls []Call, n int) []Call {
	out := append([]Call(nil), calls...)
	for i := range out {
		if out[i].ID == "" {
			out[i].ID = fmt.Sprintf("call_%d_%d", n, i)
		}
	}
	return out
}

func (a Answer) usage(r Request) Usage {
	if a.Usage != (Usage{}) {
		return a.Usage
	}
	out := len(a.Text) + len(a.Thinking)
	for _, c := range a.Calls {
		out += len(c.Name) + len(c.Args)
	}
	return Usage{Input: len(r.Body)/4 + 1, Output: out/4 + 1}
}
