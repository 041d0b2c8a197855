// Package ics writes reminders as a calendar file (iCalendar, RFC 5545) and
// reads those of others. It is pure.
package ics

import (
	"errors"
	"strings"

	"magpie/cron"
	"magpie/cron/when"
)

// The bounds of a file.
const (
	maxBytes   = 1 << 20
	maxEntries = 500
	maxRepeats = 500 // events that repeat; one that never comes takes some milliseconds
	maxAlarms  = 5   // of an event
	maxDates   = 400 // of a rule that others could not read
	maxDepth   = 10  // of components in each other
)

// Errors of Read and Write.
var (
	ErrTooBig      = errors.New("the calendar file is larger than 1 MB")
	ErrNotCalendar = errors.New("this is no calendar file")
	ErrEmpty       = errors.New("there is no reminder to write")
)

// Entry is a reminder that a calendar file asks for.
type Entry struct {
	Text, Name string
	Schedule   cron.Schedule
}

// Skipped is what a calendar file holds and no reminder is made of.
type Skipped struct {
	Text string
	Why  when.Text
}

// What Magpie adds to an event, to read it again as it was.
const (
	propRule   = "X-MAGPIE-RULE" // the rule of which others see the next dates
	propName   = "X-MAGPIE-NAME"
	propPaused = "X-MAGPIE-PAUSED"
)

// layout is a local time in a file.
const layout = "20060102T150405"

// fold breaks a line after 75 bytes, between characters.
func fold(b *strings.Builder, line string) {
	room := 75
	for len(line) > room {
		cut := room
		for cut > 1 && line[cut]&0xC0 == 0x80 {
			cut--
		}
		b.WriteString(line[:cut])
		b.WriteString("\r\n ")
		line, room = line[cut:], 74
	}
	b.WriteString(line)
	b.WriteString("\r\n")
}

// escape writes a text as a value; unescape reads it, with what is wrong in it.
func escape(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7F {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, ";", `\;`, ",", `\,`).Replace(text)
}

func unescape(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			i++
			if value[i] == 'n' || value[i] == 'N' {
				b.WriteByte('\n')
				continue
			}
		}
		b.WriteByte(value[i])
	}
	return strings.TrimSpace(strings.ToValidUTF8(b.String(), "�"))
}
