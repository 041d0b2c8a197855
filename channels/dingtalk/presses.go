package dingtalk

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// pressAgain is how long after a stored press the same one is its repeat:
	// DingTalk repeats what it did not see acknowledged after a minute. Later it
	// is somebody who presses once more.
	pressAgain = 2 * time.Minute
	// mostPresses is how many stored presses are remembered.
	mostPresses = 1024
)

// presses tells a press that is pushed again from one that is made again. No
// field of a press names it but the frame's id, which a repeat has another of:
// the same person, button and set of buttons are the same press. A repeat to
// another process is the same too, for which nothing has to be remembered.
type presses struct {
	mu    sync.Mutex
	known map[string]pressed
}

// pressed is how often a press was stored, and when last.
type pressed struct {
	times int
	at    time.Time
}

// id is the id of a press.
func (p *presses) id(key string, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.known[key]
	times := last.times
	if times > 0 && now.Sub(last.at) <= pressAgain {
		times--
	}
	return key + "#" + strconv.Itoa(times)
}

// done notes that a press was stored.
func (p *presses) done(id string, now time.Time) {
	cut := strings.LastIndexByte(id, '#')
	if cut < 0 {
		return
	}
	times, _ := strconv.Atoi(id[cut+1:]) // made by id
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= mostPresses {
		clear(p.known)
	}
	p.known[id[:cut]] = pressed{times + 1, now}
}
