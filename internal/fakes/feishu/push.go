package feishu

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// pushes are the events on their way to the bot.
type pushes struct {
	events  []*event // not acknowledged, oldest first
	all     map[string]*event
	lines   []*line
	tickets map[string]bool
	hook    string // address of the bot's webhook; "" = long connection
	wake    chan struct{}
	piece   int // bytes of payload in one frame; 0 = all
	held    bool
	silent  bool
	pressed map[string]Pressed // by the id of the event
	counts
}

// counts are for those who look on.
type counts struct{ opened, closed, pushed, pings, lost int }

// callback is the event of a press. It is no event proper: somebody waits for
// the answer, which has to come within 3 s, and it is not brought again
// (feishu-cards/card-callback-communication, read November 2026).
const callback = "card.action.trigger"

// event is one event; it is pushed until it is acknowledged or given up.
type event struct {
	id      string
	chat    string
	press   bool
	born    time.Time
	payload []byte
	tries   int
	due     time.Time
	until   time.Time // when the answer is late; zero = not on its way
	on      *line
}

func newPushes() pushes {
	return pushes{all: map[string]*event{}, tickets: map[string]bool{}, pressed: map[string]Pressed{}, wake: make(chan struct{}, 1)}
}

// SetHook makes the platform call an address instead of using connections.
func (s *Server) SetHook(url string) {
	s.mu.Lock()
	s.pushes.hook = url
	s.mu.Unlock()
	s.poke()
}

// Hold keeps events back until Hold(false).
func (s *Server) Hold(on bool) {
	s.mu.Lock()
	s.pushes.held = on
	s.mu.Unlock()
	s.poke()
}

// Split cuts events into frames of this many bytes; 0 = do not.
func (s *Server) Split(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes.piece = bytes
}

// Pending is how many events are not acknowledged, Lost how many were given up.
func (s *Server) Pending() (pending, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pushes.events), s.pushes.lost
}

// Pushed is how often events were pushed, repeats included.
func (s *Server) Pushed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushes.pushed
}

// Again pushes the event of a message once more, as the platform does when it
// did not see the acknowledgement.
func (s *Server) Again(message string) {
	s.mu.Lock()
	if e := s.pushes.all[message]; e != nil {
		again := *e
		again.tries, again.due, again.until, again.on = 0, s.opts.Now(), time.Time{}, nil
		s.pushes.events = append(s.pushes.events, &again)
	}
	s.mu.Unlock()
	s.poke()
}

// Tries is how often the event of a message was brought again because nobody
// had acknowledged it; later events do not wait for it.
func (s *Server) Tries(message string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.pushes.all[message]; e != nil {
		return e.tries
	}
	return 0
}

// push queues an event and returns its id; s.mu is held.
func (s *Server) push(chat, kind string, body object) string {
	id := "fakeevent" + s.next()
	e := &event{id: id, chat: chat, press: kind == callback, born: s.opts.Now(), due: s.opts.Now(), payload: []byte(encode(object{
		"schema": "2.0",
		"header": object{
			"event_id": id, "event_type": kind, "create_time": strconv.FormatInt(s.opts.Now().UnixMilli(), 10),
			"token": s.opts.VerificationToken, "app_id": s.opts.AppID, "tenant_key": "fake",
		},
		"event": body,
	}))}
	s.pushes.events = append(s.pushes.events, e)
	if m, ok := body["message"].(object); ok && !s.opts.Forget {
		s.pushes.all[m["message_id"].(string)] = e
	}
	s.poke()
	return id
}

// Raw pushes bytes that need be no event.
func (s *Server) Raw(payload string) {
	s.mu.Lock()
	s.pushes.events = append(s.pushes.events, &event{id: "raw" + s.next(), due: s.opts.Now(), payload: []byte(payload)})
	s.mu.Unlock()
	s.poke()
}

func (s *Server) poke() {
	select {
	case s.pushes.wake <- struct{}{}:
	default:
	}
}

// pump brings events to the bot until the server is closed.
func (s *Server) pump() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.pushDue())
		select {
		case <-s.life.Done():
			return
		case <-s.pushes.wake:
		case <-timer.C:
		}
	}
}

// pushDue pushes what is due, in order, and returns when to look again.
func (s *Server) pushDue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := s.opts.Now(), time.Hour
	busy := map[string]bool{} // chats whose earlier event is at the webhook
	for _, e := range slices.Clone(s.pushes.events) {
		switch {
		case e.press && now.After(e.born.Add(s.opts.AckWait)):
			s.failed(e)
			continue
		case !e.until.IsZero() && now.After(e.until):
			s.failed(e)
			next = min(next, max(e.due.Sub(now), 0))
			continue
		case !e.until.IsZero():
			next = min(next, e.until.Sub(now))
			busy[e.chat] = true
			continue
		}
		switch {
		case e.due.After(now):
			next = min(next, e.due.Sub(now))
		case s.pushes.held || s.pushes.silent:
		case s.pushes.hook != "" && !busy[e.chat]:
			s.pushes.pushed++
			busy[e.chat] = true
			e.until = now.Add(s.opts.AckWait)
			s.wg.Go(func() { s.callHook(e) })
			next = min(next, s.opts.AckWait)
		case s.pushes.hook == "" && s.newest() != nil:
			s.pushes.pushed++
			e.until, e.on = now.Add(s.opts.AckWait), s.newest()
			s.writeEvent(e)
			next = min(next, s.opts.AckWait)
		}
	}
	for _, e := range s.pushes.events {
		if e.press {
			next = min(next, e.born.Add(s.opts.AckWait).Sub(now)+time.Millisecond)
		}
	}
	return max(next, time.Millisecond)
}

// writeEvent writes an event to its connection, in pieces when told to.
func (s *Server) writeEvent(e *event) {
	piece := s.pushes.piece
	if piece <= 0 {
		piece = len(e.payload) + 1
	}
	parts := slices.Collect(slices.Chunk(e.payload, piece))
	if len(parts) == 0 {
		parts = [][]byte{nil}
	}
	s.serial++
	for i, part := range parts {
		f := frame{seq: uint64(s.serial), log: 1000, service: serviceID, method: data, payload: part, headers: [][2]string{
			{"type", "event"},
			{"message_id", e.id + "-" + strconv.Itoa(e.tries)},
			{"sum", strconv.Itoa(len(parts))},
			{"seq", strconv.Itoa(i)},
			{"trace_id", "fakeTrace"},
			{"timestamp", strconv.FormatInt(s.opts.Now().UnixMilli(), 10)},
		}}
		if err := e.on.write(context.Background(), &f); err != nil {
			e.on.cut()
			return
		}
	}
}

// acknowledged takes the answer to an event.
func (s *Server) acknowledged(f *frame) {
	var ack struct {
		Code int    `json:"code"`
		Data []byte `json:"data"`
	}
	ok := json.Unmarshal(f.payload, &ack) == nil && ack.Code == http.StatusOK
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.pushes.events {
		if e.id+"-"+strconv.Itoa(e.tries) == f.header("message_id") && !e.until.IsZero() {
			s.outcome(e, ok, ack.Data)
			break
		}
	}
	s.poke()
}

func (s *Server) outcome(e *event, ok bool, answer []byte) {
	if !ok {
		s.failed(e)
		return
	}
	if e.press {
		s.pushes.pressed[e.id] = readToast(answer)
		s.news.Tell()
	}
	s.drop(e)
}

// readToast reads the answer to a press.
func readToast(answer []byte) Pressed {
	shown := Pressed{Done: true}
	var a struct {
		Toast *struct {
			Type    string            `json:"type"`
			Content string            `json:"content"`
			I18n    map[string]string `json:"i18n"`
		} `json:"toast"`
	}
	switch {
	case len(bytes.TrimSpace(answer)) == 0:
	case json.Unmarshal(answer, &a) != nil, a.Toast != nil && !slices.Contains([]string{"info", "success", "error", "warning"}, a.Toast.Type):
		shown.Error = true // 200672: a wrong answer
	case a.Toast != nil:
		shown.Toast = cmp.Or(a.Toast.I18n["zh_cn"], a.Toast.Content)
	}
	return shown
}

func (s *Server) drop(e *event) {
	s.pushes.events = slices.DeleteFunc(s.pushes.events, func(one *event) bool { return one == e })
}

// failed puts an event off, or gives it up.
func (s *Server) failed(e *event) {
	e.until, e.on = time.Time{}, nil
	if e.press {
		s.pushes.pressed[e.id] = Pressed{Done: true, Error: true}
		s.news.Tell()
		s.drop(e)
		return
	}
	if e.tries >= len(s.opts.Repush) {
		s.pushes.lost++
		s.drop(e)
		return
	}
	e.due = s.opts.Now().Add(s.opts.Repush[e.tries])
	e.tries++
}

// callHook posts an event to the bot's webhook.
func (s *Server) callHook(e *event) {
	ok, answered := false, ""
	s.mu.Lock()
	url, payload := s.pushes.hook, e.payload
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.AckWait)
	defer cancel()
	if status, body, err := s.CallHook(ctx, url, payload); err == nil {
		ok, answered = status == http.StatusOK, body
	}
	s.mu.Lock()
	if !e.until.IsZero() {
		s.outcome(e, ok, []byte(answered))
	}
	s.mu.Unlock()
	s.poke()
}

// CallHook posts a payload to a webhook as the platform does, encrypted and
// signed when there is an encrypt key, and returns the answer.
func (s *Server) CallHook(ctx context.Context, url string, payload []byte) (status int, body string, err error) {
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	if s.opts.EncryptKey != "" {
		payload = []byte(encode(object{"encrypt": Seal(payload, s.opts.EncryptKey)}))
		stamp, nonce := strconv.FormatInt(s.opts.Now().Unix(), 10), "fakenonce"
		sum := sha256.Sum256([]byte(stamp + nonce + s.opts.EncryptKey + string(payload)))
		header.Set("X-Lark-Request-Timestamp", stamp)
		header.Set("X-Lark-Request-Nonce", nonce)
		header.Set("X-Lark-Signature", hex.EncodeToString(sum[:]))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return 0, "", err
	}
	req.Header = header
	resp, err := s.opts.Client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(http.MaxBytesReader(nil, resp.Body, 1<<20))
	return resp.StatusCode, b.String(), err
}

// Seal encrypts an event as the platform does: AES-256-CBC under the key's
// SHA-256, with the IV in front.
func Seal(plain []byte, key string) string {
	hashed := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(hashed[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	plain = append(slices.Clone(plain), bytes.Repeat([]byte{byte(pad)}, pad)...)
	iv := sha256.Sum256(plain) // a fake may be predictable
	out := append(slices.Clone(iv[:aes.BlockSize]), make([]byte, len(plain))...)
	cipher.NewCBCEncrypter(block, iv[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	return base64.StdEncoding.EncodeToString(out)
}
