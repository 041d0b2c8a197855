package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"magpie/channels/access"
)

// PairInput is the input of the operations on pairs.
type PairInput struct {
	Code   string `json:"code,omitempty"`   // pair.approve
	Person string `json:"person,omitempty"` // pair.revoke: "<channel>:<sender id>"
}

// Person is somebody who was let in by a code, or who waits with one.
type Person struct {
	Person  string    `json:"person"` // "<channel>:<sender id>"
	Name    string    `json:"name,omitempty"`
	Chat    string    `json:"chat"`
	At      time.Time `json:"at"`             // of the request, or of the approval
	Code    string    `json:"code,omitempty"` // waits with it; "" = let in
	Expires time.Time `json:"expires,omitzero"`
}

func personOf(p access.Pair) Person {
	return Person{
		Person: p.Addr.Channel + ":" + p.Sender.ID, Name: p.Sender.Name, Chat: p.Addr.String(),
		At: p.At, Code: p.Code, Expires: p.Expires,
	}
}

func (s state) pairs() *access.Pairs { return access.NewPairs(s.bus.Table("pairs")) }

// listPairs gives those who were let in, then those who wait, each from the
// oldest on.
func listPairs(ctx context.Context, s state, _ json.RawMessage) (any, error) {
	allowed, waiting, err := s.pairs().List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Person, 0, len(allowed)+len(waiting))
	for _, pairs := range [][]access.Pair{allowed, waiting} {
		sort.Slice(pairs, func(i, j int) bool { return pairs[i].At.Before(pairs[j].At) })
		for _, p := range pairs {
			all = append(all, personOf(p))
		}
	}
	return all, nil
}

// approvePair lets a stranger in and tells him; a bot that does not run tells
// him after its next start.
func approvePair(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[PairInput](raw)
	if err != nil {
		return nil, err
	}
	pair, err := s.pairs().Approve(ctx, in.Code)
	if errors.Is(err, access.ErrCode) {
		return nil, fmt.Errorf("%w: %q; codes have 8 letters and digits and are good for %s, bot pair list shows them",
			err, in.Code, s.cfg.Security.PairingTTL)
	}
	if err != nil {
		return nil, err
	}
	return personOf(pair), s.bus.PublishOutbound(ctx, access.Welcome(pair))
}

// revokePair shuts somebody out who was let in by a code, or makes his code
// void.
func revokePair(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[PairInput](raw)
	if err != nil {
		return nil, err
	}
	channel, sender, ok := strings.Cut(in.Person, ":")
	if !ok || channel == "" || sender == "" {
		return nil, fmt.Errorf("%q is nobody: want <channel>:<sender id>, as bot pair list shows them", in.Person)
	}
	_, waiting, err := s.pairs().List(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.pairs().Revoke(ctx, channel, sender)
	if err != nil {
		return nil, err
	}
	for _, p := range waiting {
		found = found || p.Addr.Channel == channel && p.Sender.ID == sender
	}
	if !found {
		return nil, fmt.Errorf("%s was not let in by a code; bot pair list shows who was, and channels.%s.allow names others", in.Person, channel)
	}
	return Person{Person: in.Person}, nil
}
