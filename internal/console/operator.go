package console

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/chat"
)

// An operator's request carries "Authorization: Magpie-Operator
// <milliseconds>.<nonce>.<mac>". The MAC is made from the token over all that
// the request is, so the token itself is not sent: who listens in the bot's
// place gets nothing that does anything else, or later, or twice. A login of
// the page has no part in it.
const (
	operatorScheme = "Magpie-Operator "
	operatorLasts  = 2 * time.Minute // before and after the time that it names
)

// operatorMAC is made with the hash of the token, as the server holds it.
func operatorMAC(token [sha256.Size]byte, r *http.Request, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, token[:])
	_, _ = fmt.Fprintf(mac, "operator\n%s\n%s\n%s\n%x", r.Method, r.URL.Path, stamp, sha256.Sum256(body)) // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// SignOperator makes a request one of the operator, who has the token. It is
// good once, for this path and body, for minutes.
func SignOperator(r *http.Request, token chat.Secret, body []byte) {
	stamp := strconv.FormatInt(time.Now().UnixMilli(), 10) + "." + rand.Text()
	r.Header.Set("Authorization", operatorScheme+stamp+"."+operatorMAC(sha256.Sum256([]byte(token)), r, stamp, body))
}

// spent are the nonces that came. It holds only those of right MACs.
type spent struct {
	mu     sync.Mutex
	began  time.Time // what was made before the server is refused: it may have been used
	nonces map[string]time.Time
}

func (s *spent) take(nonce string, made, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, until := range s.nonces {
		if now.After(until) {
			delete(s.nonces, n)
		}
	}
	began := now.Add(-now.Sub(s.began)).Truncate(time.Millisecond) // also after the clock was set
	switch _, used := s.nonces[nonce]; {
	case used:
		return errors.New("this was asked already")
	case made.Before(began), now.Sub(made) > operatorLasts, made.Sub(now) > operatorLasts:
		return fmt.Errorf("this was made at %s and is good for %v only; here it is %s: ask again, and look at the clocks",
			made.UTC().Format(time.RFC3339), operatorLasts, now.UTC().Format(time.RFC3339))
	}
	s.nonces[nonce] = made.Add(operatorLasts)
	return nil
}

// operators lets pass what SignOperator made, and nothing else.
func (g *guard) operators(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		said, ok := strings.CutPrefix(r.Header.Get("Authorization"), operatorScheme)
		if !ok {
			answer(rw, http.StatusUnauthorized, map[string]string{"error": "this is for the commands of the bot, which sign it with the token; a login of the page and the token itself do not open it"})
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			answer(rw, http.StatusRequestEntityTooLarge, map[string]string{"error": "the input cannot be read, or is too large"})
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		i := strings.LastIndexByte(said, '.')
		stamp, mac := said[:max(i, 0)], said[i+1:]
		at, nonce, _ := strings.Cut(stamp, ".")
		milli, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !hmac.Equal([]byte(mac), []byte(operatorMAC(g.token, r, stamp, body))) {
			g.refuse(rw, r, g.failed(r, byOperator))
			return
		}
		if err := g.spent.take(nonce, time.UnixMilli(milli), g.now()); err != nil {
			answer(rw, http.StatusForbidden, map[string]string{"error": err.Error()})
			return
		}
		next.ServeHTTP(rw, r)
	})
}
