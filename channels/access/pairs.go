package access

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// ErrCode: there is no such pairing code, or its time is over.
var ErrCode = errors.New("unknown or expired pairing code")

// Pair is a stranger who asked, or a person who was let in.
type Pair struct {
	Addr    chat.Address `json:"addr"` // where the person wrote
	Sender  chat.Sender  `json:"sender"`
	At      time.Time    `json:"at"` // of the request, or of the approval
	Code    string       `json:"code,omitempty"`
	Expires time.Time    `json:"expires,omitzero"` // of the code
}

// Pairs keeps pairing codes and those they let in, for all channels. Safe for
// concurrent use, also over processes that share the table.
type Pairs struct{ table kv.Table }

// NewPairs returns the Pairs in table.
func NewPairs(table kv.Table) *Pairs { return &Pairs{table: table} }

// Keys: code.<code>, ask.<channel>.<sender>, ok.<channel>.<sender>, and those of
// once: greeted.<channel>.<chat>, told.<channel>.<chat>.<sender>.
const (
	codePrefix = "code"
	askPrefix  = "ask"
	okPrefix   = "ok"
)

func personKey(prefix, channel, sender string) string { return prefix + "." + channel + "." + sender }

// Allowed reports whether a sender was let in by a code.
func (p *Pairs) Allowed(ctx context.Context, channel, sender string) (bool, error) {
	_, err := p.table.Get(ctx, personKey(okPrefix, channel, sender))
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// letters has no I, O, 0, 1: they are mistaken for each other. 32 letters make
// a byte's lower five bits an even choice.
const (
	letters    = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	codeLength = 8
)

func newCode() string {
	b := make([]byte, codeLength)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// Ask returns the code of a stranger, the same one as long as it is good.
func (p *Pairs) Ask(ctx context.Context, addr chat.Address, s chat.Sender, life time.Duration) (Pair, error) {
	key := personKey(askPrefix, addr.Channel, s.ID)
	var old Pair
	if found, err := p.load(ctx, key, &old); err != nil || found && time.Now().Before(old.Expires) {
		return old, err
	}
	now := time.Now().UTC()
	pair := Pair{Addr: addr, Sender: s, At: now, Expires: now.Add(life)}
	for {
		pair.Code = newCode()
		value, err := json.Marshal(pair)
		if err != nil {
			return Pair{}, fmt.Errorf("encode pairing code: %w", err)
		}
		_, err = p.table.Create(ctx, codePrefix+"."+pair.Code, value, life)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err == nil {
			_, err = p.table.Update(ctx, key, value, 0, life)
		}
		if err != nil {
			return Pair{}, fmt.Errorf("store pairing code: %w", err)
		}
		return pair, nil
	}
}

// Approve lets the person in to whom the code was given. Case, spaces and
// dashes do not matter. ErrCode when there is no such code (any more).
func (p *Pairs) Approve(ctx context.Context, code string) (Pair, error) {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
	var pair Pair
	found := false
	if len(code) == codeLength && strings.Trim(code, letters) == "" {
		var err error
		if found, err = p.load(ctx, codePrefix+"."+code, &pair); err != nil {
			return Pair{}, err
		}
	}
	if !found || !time.Now().Before(pair.Expires) {
		return Pair{}, ErrCode
	}
	pair.At, pair.Code, pair.Expires = time.Now().UTC(), "", time.Time{}
	value, err := json.Marshal(pair)
	if err != nil {
		return Pair{}, fmt.Errorf("encode pair: %w", err)
	}
	channel, sender := pair.Addr.Channel, pair.Sender.ID
	if _, err := p.table.Update(ctx, personKey(okPrefix, channel, sender), value, 0, 0); err != nil {
		return Pair{}, fmt.Errorf("store pair: %w", err)
	}
	for _, key := range []string{codePrefix + "." + code, personKey(askPrefix, channel, sender)} {
		if err := p.table.Delete(ctx, key); err != nil {
			return Pair{}, fmt.Errorf("remove pairing code: %w", err)
		}
	}
	return pair, nil
}

// Revoke takes a person's permission away, and any open code with it; found
// is false when there was none.
func (p *Pairs) Revoke(ctx context.Context, channel, sender string) (found bool, err error) {
	found, err = p.Allowed(ctx, channel, sender)
	if err != nil {
		return false, err
	}
	var asked Pair
	if open, err := p.load(ctx, personKey(askPrefix, channel, sender), &asked); err != nil {
		return found, err
	} else if open {
		err := errors.Join(p.table.Delete(ctx, codePrefix+"."+asked.Code), p.table.Delete(ctx, personKey(askPrefix, channel, sender)))
		if err != nil {
			return found, err
		}
	}
	return found, p.table.Delete(ctx, personKey(okPrefix, channel, sender))
}

// List returns who was let in, and who waits with a good code.
func (p *Pairs) List(ctx context.Context) (allowed, waiting []Pair, err error) {
	if allowed, err = p.list(ctx, okPrefix); err != nil {
		return nil, nil, err
	}
	codes, err := p.list(ctx, codePrefix)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range codes {
		if time.Now().Before(c.Expires) {
			waiting = append(waiting, c)
		}
	}
	return allowed, waiting, nil
}

func (p *Pairs) list(ctx context.Context, prefix string) (all []Pair, err error) {
	entries, err := kv.List(ctx, p.table, prefix)
	if err != nil {
		return nil, fmt.Errorf("list pairs: %w", err)
	}
	for _, e := range entries {
		var pair Pair
		if err := json.Unmarshal(e.Value, &pair); err != nil {
			return nil, fmt.Errorf("read pair %q: %w", e.Key, err)
		}
		all = append(all, pair)
	}
	return all, nil
}

func (p *Pairs) load(ctx context.Context, key string, v *Pair) (bool, error) {
	e, err := p.table.Get(ctx, key)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pair: %w", err)
	}
	if err := json.Unmarshal(e.Value, v); err != nil {
		return false, fmt.Errorf("read pair %q: %w", key, err)
	}
	return true, nil
}

// offer answers a stranger's direct message with a pairing code, now and then.
func (g *Gate) offer(ctx context.Context, r *rules, in chat.Inbound) error {
	if in.From.ID == "" || !g.mayTell(in.From.ID) {
		return nil
	}
	if !g.offers.Allow() {
		g.forgetTold(in.From.ID)
		return nil
	}
	pair, err := g.deps.Pairs.Ask(ctx, in.Addr, in.From, r.CodeLife)
	if err == nil {
		err = g.say(ctx, in, "pair", invitation(in, pair))
	}
	if err != nil { // it was not said: say it when the message comes again
		g.forgetTold(in.From.ID)
	}
	return err
}

// mayTell says whether enough time has gone since a stranger was told something.
func (g *Gate) mayTell(what string) bool {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.told[what]; ok && now.Sub(last) < offerPause {
		return false
	}
	for old, at := range g.told {
		if now.Sub(at) >= offerPause {
			delete(g.told, old)
		}
	}
	if len(g.told) >= maxKept {
		return false
	}
	g.told[what] = now
	return true
}

func (g *Gate) forgetTold(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.told, what)
}

func invitation(in chat.Inbound, p Pair) string {
	minutes := int(time.Until(p.Expires).Round(time.Minute) / time.Minute)
	return inTongue(in.Language(),
		fmt.Sprintf("Hello! I do not know you yet. Please give the pairing code `%s` to whoever runs me (good for %d min): they can send me `/pair %s`.",
			p.Code, max(minutes, 1), p.Code),
		fmt.Sprintf("你好！我还不认识你。请把配对码 `%s` 交给管理员（有效 %d 分钟），管理员可在聊天中发送 `/pair %s`。",
			p.Code, max(minutes, 1), p.Code))
}

// Welcome is the message that tells a person that the code was accepted.
func Welcome(p Pair) chat.Outbound {
	text := inTongue(p.Sender.Language(), "You are connected. Just write to me.", "配对成功，直接给我发消息吧。")
	id := fmt.Sprintf("welcome:%s:%s:%d", p.Addr.Channel, p.Sender.ID, p.At.UnixMilli())
	return chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: id, At: p.At, Addr: p.Addr}, Text: text}
}
