package bus

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// A ledger notes ids for as long as platforms repeat messages. All ids of a
// chat stand under one subject, one after the other: the server keeps every
// subject in memory, and a subject for each id would be most of what a busy bot
// needs. What a chat's subject holds is read once by each process that asks;
// after that only what has come since.
type ledger struct {
	b    *Bus
	root string // of its subjects
	// ids reads which ones an entry notes.
	ids func(data []byte) ([]string, error)

	mu    sync.Mutex
	pages map[string]*page
	size  int // ids in all pages
}

// page is what this process knows of one subject.
type page struct {
	opened time.Time
	ids    int // len(at); under the ledger's mu

	mu   sync.Mutex
	last uint64            // everything up to this sequence was read
	at   map[idHash]uint64 // where an id was noted last
}

type idHash [12]byte

const (
	// maxIDs bounds the ids in memory, of which each takes some 40 bytes: beyond
	// it no chat is added, all are forgotten and read again.
	maxIDs = 20_000
	// readSingly is how many entries are read one by one before the server is
	// asked for all of them at once, which takes as long as some twenty reads.
	readSingly = 16
)

func newLedger(b *Bus, root string, ids func([]byte) ([]string, error)) *ledger {
	return &ledger{b: b, root: root, ids: ids, pages: map[string]*page{}}
}

// find returns the sequence of the entry that notes id last.
func (l *ledger) find(ctx context.Context, chat, id string) (seq uint64, found bool, err error) {
	p := l.page(chat)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := l.readOn(ctx, l.root+chat, p); err != nil {
		return 0, false, fmt.Errorf("look up id %q: %w", id, err)
	}
	seq, found = p.at[hashID(id)]
	return seq, found, nil
}

// add stores an entry. If nothing came before it that the page does not have,
// it need not be read again.
func (l *ledger) add(ctx context.Context, chat string, data []byte) error {
	p := l.page(chat)
	p.mu.Lock()
	defer p.mu.Unlock()
	msg := nats.NewMsg(l.root + chat)
	msg.Data = data
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, fmt.Sprint(p.last))
	seq, err := l.b.publish(ctx, msg)
	if err == nil {
		l.note(p, seq, data)
		return nil
	}
	if errors.Is(err, errConflict) {
		msg.Header.Del(jetstream.ExpectedLastSubjSeqHeader)
		_, err = l.b.publish(ctx, msg)
	}
	return err
}

func (l *ledger) page(chat string) *page {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[chat]
	if p != nil && time.Since(p.opened) < keepIDs {
		return p
	}
	switch {
	case p != nil: // half of it is forgotten by the store
		l.size -= p.ids
	case l.size > maxIDs:
		clear(l.pages)
		l.size = 0
	}
	p = &page{opened: time.Now(), at: map[idHash]uint64{}}
	l.pages[chat] = p
	return p
}

// readOn reads what the page does not have. It ends with the word of the
// stream's leader that there is no more; the others may lag.
func (l *ledger) readOn(ctx context.Context, subject string, p *page) error {
	ids := l.b.streams.ids
	for {
		for range readSingly {
			msg, err := l.b.message(ctx, ids, p.last+1, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			l.note(p, msg.Sequence, msg.Data)
		}
		from := jetstream.ConsumerConfig{FilterSubject: subject, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: p.last + 1}
		err := l.b.each(ctx, ids, from, time.Time{}, func(msg jetstream.Msg) error {
			meta, err := msg.Metadata()
			if err == nil {
				l.note(p, meta.Sequence.Stream, msg.Data())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

// note takes an entry into the page; p.mu is held.
func (l *ledger) note(p *page, seq uint64, data []byte) {
	p.last = seq
	ids, err := l.ids(data)
	if err != nil {
		l.b.log.Error("an entry of ids is damaged and left out", "ledger", l.root, "seq", seq, "err", err)
		return
	}
	for _, id := range ids {
		p.at[hashID(id)] = seq
	}
	l.mu.Lock()
	l.size += len(p.at) - p.ids
	p.ids = len(p.at)
	l.mu.Unlock()
}

// Answered reports whether the inbound message of that id was answered in the
// chat within the last days.
func (b *Bus) Answered(ctx context.Context, sid chat.SessionKey, id string) (bool, error) {
	_, found, err := b.chats.seen.find(ctx, string(sid), id)
	return found, err
}

func hashID(id string) idHash {
	sum := sha256.Sum256([]byte(id))
	return idHash(sum[:12])
}

const (
	rootSeen    = string(Seen) + "."
	rootReceipt = string(Receipt) + "."
)

// seenIDs reads an entry about inbound messages that are answered.
func seenIDs(data []byte) (ids []string, err error) {
	return ids, json.Unmarshal(data, &ids)
}
