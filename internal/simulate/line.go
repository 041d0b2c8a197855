package simulate

import (
	"net"
	"sync"
)

// line is a listener whose connections can be cut, as a network does it.
type line struct {
	net.Listener
	mu   sync.Mutex
	open map[*wire]bool
	off  bool
}

// wire is one connection of a line.
type wire struct {
	net.Conn
	line *line
}

func newLine(l net.Listener) *line { return &line{Listener: l, open: map[*wire]bool{}} }

// Accept takes the next connection; while the line is down, whoever connects
// finds the connection closed.
func (l *line) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		w := &wire{conn, l}
		l.mu.Lock()
		off := l.off
		if !off {
			l.open[w] = true
		}
		l.mu.Unlock()
		if !off {
			return w, nil
		}
		_ = conn.Close()
	}
}

// Close ends the connection.
func (w *wire) Close() error {
	w.line.mu.Lock()
	delete(w.line.open, w)
	w.line.mu.Unlock()
	return w.Conn.Close()
}

// down cuts the line and keeps it cut, or mends it.
func (l *line) down(is bool) {
	l.mu.Lock()
	l.off = is
	l.mu.Unlock()
	if is {
		l.cut()
	}
}

// cut closes every connection without a word.
func (l *line) cut() {
	l.mu.Lock()
	var all []*wire
	for w := range l.open {
		all = append(all, w)
	}
	clear(l.open)
	l.mu.Unlock()
	for _, w := range all {
		_ = w.Conn.Close() // the other side is told by that
	}
}
