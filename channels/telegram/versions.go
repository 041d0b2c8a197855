package telegram

import (
	"hash/maphash"
	"sync"

	"magpie/chat"
)

// maxVersions is how many messages are remembered at least.
const maxVersions = 2048

// versions are the messages read last, by chat and number. Telegram tells that
// a message was edited also when what has changed is nothing that the bot reads
// (https://core.telegram.org/bots/api#update, read November 2026): that is no
// reason to answer once more.
type versions struct {
	seed maphash.Seed

	mu        sync.Mutex
	now, last map[string]version
}

type version struct {
	id   string // of the update's message
	hash uint64
}

func newVersions() *versions {
	return &versions{seed: maphash.MakeSeed(), now: map[string]version{}}
}

// note remembers a message, and reports whether it reads as before. The same
// once more, because it was not stored, does not.
func (v *versions) note(in *chat.Inbound) (same bool) {
	var h maphash.Hash
	h.SetSeed(v.seed)
	_, _ = h.WriteString(in.Text) // it takes everything
	for _, a := range in.Attachments {
		_, _ = h.WriteString("\x00" + a.Source)
	}
	key, is := in.Addr.Chat+":"+in.MessageID, version{in.ID, h.Sum64()}
	v.mu.Lock()
	defer v.mu.Unlock()
	was, known := v.now[key]
	if !known {
		was, known = v.last[key]
	}
	if known && was.hash == is.hash && was.id != is.id {
		return true
	}
	if len(v.now) >= maxVersions {
		v.now, v.last = map[string]version{}, v.now
	}
	v.now[key] = is
	return false
}
