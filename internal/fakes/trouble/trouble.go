// Package trouble is what the fake platforms share about going wrong: calls
// that fail as arranged, and limits on how fast calls may come. Which calls and
// with which answer is each platform's own. Nothing here locks: the fakes do.
package trouble

import (
	"context"
	"net/http"
	"time"
)

// List holds arranged faults of a platform's own type, used up in order.
type List[F any] struct{ all []arranged[F] }

type arranged[F any] struct {
	fault F
	left  int
}

// Add arranges a fault for times calls to come; 0 = one.
func (l *List[F]) Add(f F, times int) { l.all = append(l.all, arranged[F]{f, max(times, 1)}) }

// Drop takes the last arranged fault back.
func (l *List[F]) Drop() { l.all = l.all[:len(l.all)-1] }

// Pick uses up the first fault that fits a call, or returns nil.
func (l *List[F]) Pick(fits func(*F) bool) *F {
	for i := range l.all {
		a := &l.all[i]
		if !fits(&a.fault) {
			continue
		}
		found := a.fault
		if a.left--; a.left == 0 {
			l.all = append(l.all[:i], l.all[i+1:]...)
		}
		return &found
	}
	return nil
}

// Cut closes the connection instead of an answer: net/http's way to do so.
func Cut() { panic(http.ErrAbortHandler) }

// Hang never answers, until the caller or the fake goes.
func Hang(ctx context.Context, closed <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-closed:
	}
	Cut()
}

// Page answers with an HTML page, as the proxy of that name in front of the
// platform does.
func Page(w http.ResponseWriter, status int, proxy string) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<html>\r\n<head><title>" + http.StatusText(status) + "</title></head>\r\n<body><center>" + proxy + "</center></body>\r\n</html>\r\n"))
}

// Bucket fills with time and empties with calls. The zero Bucket is full.
type Bucket struct {
	left float64
	at   time.Time
}

// Take takes one, or says after how many seconds to come again.
func (b *Bucket) Take(now time.Time, perSecond, size float64) (wait float64) {
	if b.at.IsZero() {
		b.left = size
	} else {
		b.left = min(size, b.left+now.Sub(b.at).Seconds()*perSecond)
	}
	b.at = now
	if b.left < 1 {
		return (1 - b.left) / perSecond
	}
	b.left--
	return 0
}
