package cron

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"magpie/chat"
)

// ErrCorrupt is in the error about an entry that cannot be understood. It is
// left as it is; only an admin's Remove takes it away.
var ErrCorrupt = errors.New("the entry of the job is damaged")

// key is where a job stands in the table: below its chat, so that the jobs of
// a chat are read without the others. Threads of a chat share a level.
func key(a chat.Address, id string) string { return level(a) + "." + id }

func level(a chat.Address) string {
	return string(chat.Address{Channel: a.Channel, Chat: a.Chat}.Session())
}

func encode(j Job) ([]byte, error) {
	value, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode job %q: %w", j.ID, err)
	}
	return value, nil
}

// decode reads an entry and the plan of its schedule. An entry that says
// anything this version would not write is refused: to rewrite it would lose
// what it says.
func decode(at string, value []byte, zoneOf func(string) (*time.Location, error)) (Job, plan, error) {
	var j Job
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	err := d.Decode(&j)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the job")
		}
	}
	var p plan
	if err == nil {
		p, err = j.usable(at, zoneOf)
	}
	if err != nil {
		return Job{}, plan{}, fmt.Errorf("job %q: %w: %w", at, ErrCorrupt, err)
	}
	return j, p, nil
}

func (j Job) usable(at string, zoneOf func(string) (*time.Location, error)) (plan, error) {
	switch {
	case j.V != Version:
		return plan{}, fmt.Errorf("version %d; this program knows %d", j.V, Version)
	case j.ID == "" || strings.Contains(j.ID, ".") || key(j.Addr, j.ID) != at:
		return plan{}, errors.New("it stands under the key of another job")
	case j.Mode != Notify && j.Mode != Agent:
		return plan{}, fmt.Errorf("mode %q", j.Mode)
	case j.Anchor.IsZero() || j.LastSlot.IsZero():
		return plan{}, errors.New("it does not say what was dealt with")
	}
	if err := j.Misfire.check(); err != nil {
		return plan{}, err
	}
	return j.Schedule.plan(j.Anchor, zoneOf)
}
