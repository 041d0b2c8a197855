package feishu

import (
	"bytes"
	"strconv"
)

// Bounds on events that come in pieces.
const (
	maxPieces  = 64 // of one event
	maxPartial = 16 // events at once; the oldest is forgotten, it comes again
)

// pieces puts events together that came in several frames. The zero value is
// ready; one goroutine uses it.
type pieces struct {
	parts map[string][][]byte
	order []string
}

// join returns the payload of the event that frame completes.
func (p *pieces) join(f *frame) (payload []byte, whole bool) {
	sum, _ := strconv.Atoi(f.header(headerSum)) // without one the frame is whole
	if sum <= 1 {
		return f.payload, true
	}
	seq, err := strconv.Atoi(f.header(headerSeq))
	if err != nil || seq < 0 || seq >= sum || sum > maxPieces {
		return nil, false
	}
	id := f.header(headerMessageID)
	parts := p.parts[id]
	if len(parts) != sum {
		p.forget(id)
		parts = p.begin(id, sum)
	}
	parts[seq] = f.payload
	for _, part := range parts {
		if part == nil {
			return nil, false
		}
	}
	p.forget(id)
	return bytes.Join(parts, nil), true
}

func (p *pieces) begin(id string, sum int) [][]byte {
	if p.parts == nil {
		p.parts = map[string][][]byte{}
	}
	if len(p.order) >= maxPartial {
		p.forget(p.order[0])
	}
	p.parts[id] = make([][]byte, sum)
	p.order = append(p.order, id)
	return p.parts[id]
}

func (p *pieces) forget(id string) {
	if _, ok := p.parts[id]; !ok {
		return
	}
	delete(p.parts, id)
	for i, have := range p.order {
		if have == id {
			p.order = append(p.order[:i:i], p.order[i+1:]...)
			return
		}
	}
}
