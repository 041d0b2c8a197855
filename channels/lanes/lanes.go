// Package lanes keeps the order of a chat: what belongs to one chat is done
// one after the other, and chats side by side.
package lanes

import "sync"

// Lanes does the work of each lane in the order in which it came. The zero
// value is ready for use.
type Lanes struct {
	// Most is how many works one lane may hold, the one under way among them;
	// 0: no limit. It is set before the first use.
	Most int

	wg     sync.WaitGroup
	mu     sync.Mutex
	queues map[string][]func() // present while a goroutine works on it; its head is under way
}

// Put has work done when all is done that came before it in its lane, and
// returns at once; false means that the lane is full.
func (l *Lanes) Put(lane string, work func()) bool {
	return l.put(lane, l.Most, work)
}

func (l *Lanes) put(lane string, most int, work func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, running := l.queues[lane]
	if most > 0 && len(queue) >= most {
		return false
	}
	if l.queues == nil {
		l.queues = map[string][]func(){}
	}
	l.queues[lane] = append(queue, work)
	if !running {
		l.wg.Go(func() { l.run(lane, work) })
	}
	return true
}

// Do waits for its turn in the lane, which is never full for it, and does the
// work.
func (l *Lanes) Do(lane string, work func() error) error {
	turn, over := make(chan struct{}), make(chan struct{})
	l.put(lane, 0, func() {
		close(turn)
		<-over
	})
	<-turn
	defer close(over)
	return work()
}

// Wait returns when no lane holds any work.
func (l *Lanes) Wait() { l.wg.Wait() }

func (l *Lanes) run(lane string, work func()) {
	for work != nil {
		work()
		work = l.next(lane)
	}
}

// next takes the work off that is done; nil: the lane is empty.
func (l *Lanes) next(lane string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queues[lane][1:]
	if len(queue) == 0 {
		delete(l.queues, lane)
		return nil
	}
	l.queues[lane] = queue
	return queue[0]
}
