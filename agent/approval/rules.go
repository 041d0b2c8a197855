package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// Rule is a standing permission: exactly this call, in this chat, without a
// question. It holds for the turns of the person who gave it; one of an
// administrator holds for everybody's. It is never more than the answer to a
// question: what the policy denies stays denied.
type Rule struct {
	Tool   string       `json:"tool"`
	What   string       `json:"what"` // the call in short
	Digest string       `json:"digest"`
	Addr   chat.Address `json:"addr"`
	By     string       `json:"by"` // "<channel>:<sender id>"
	Name   string       `json:"name"`
	At     time.Time    `json:"at"`
}

const rulePrefix = "rule"

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

func rulesOf(a chat.Address) string { return rulePrefix + "." + hashed(a.String()) }

func (r Rule) key() string { return rulesOf(r.Addr) + "." + r.Digest + "." + hashed(r.By) }

// stand writes the permission that an answer has asked for.
func (d *Desk) stand(ctx context.Context, req Request, channel string) error {
	rule := Rule{Tool: req.Tool, What: req.What, Digest: req.Rule, Addr: req.Addr, By: channel + ":" + req.By, Name: req.Name, At: req.At}
	raw, err := json.Marshal(rule)
	if err != nil {
		return err
	}
	if _, err := d.opt.Table.Update(ctx, rule.key(), raw, 0, 0); err != nil {
		return fmt.Errorf("write a standing permission: %w", err)
	}
	return nil
}

// permits looks for a permission for what that digest is of.
func (d *Desk) permits(ctx context.Context, sc tools.Scope, digest string) (Rule, bool, error) {
	rules, err := d.under(ctx, rulesOf(sc.Addr)+"."+digest)
	for _, r := range rules {
		own := sc.Sender.ID != "" && r.By == sc.Addr.Channel+":"+sc.Sender.ID
		if r.Addr == sc.Addr && r.Digest == digest && (own || slices.Contains(*d.admins.Load(), r.By)) {
			return r, true, nil
		}
	}
	return Rule{}, false, err
}

// Rules lists the standing permissions of a chat, the oldest first.
func (d *Desk) Rules(ctx context.Context, a chat.Address) ([]Rule, error) {
	return d.under(ctx, rulesOf(a))
}

func (d *Desk) under(ctx context.Context, prefix string) ([]Rule, error) {
	entries, err := kv.List(ctx, d.opt.Table, prefix)
	if err != nil {
		return nil, fmt.Errorf("list standing permissions: %w", err)
	}
	var all []Rule
	for _, e := range entries {
		var r Rule
		if json.Unmarshal(e.Value, &r) == nil && r.key() == e.Key {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.key(), b.key())) })
	return all, nil
}

// Revoke takes a standing permission back. Who gave it may, and administrators;
// others get ErrForeign.
func (d *Desk) Revoke(ctx context.Context, channel string, by chat.Sender, r Rule) error {
	who := channel + ":" + by.ID
	if by.ID == "" || who != r.By && !slices.Contains(*d.admins.Load(), who) {
		return ErrForeign
	}
	return d.opt.Table.Delete(ctx, r.key())
}
