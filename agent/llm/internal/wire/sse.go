package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"strings"
)

// maxLine bounds one line of an event stream in bytes: a whole picture or file
// may stand in one.
const maxLine = 32 << 20

// Event is one server-sent event.
type Event struct {
	Name string
	Data string
}

// Events reads the body as server-sent events: see ReadEvents.
func (b *Body) Events() iter.Seq2[Event, error] { return ReadEvents(b.buf) }

// ReadEvents yields the events of r in order. Lines end in LF, CRLF or CR;
// comments and events without data are left out; an event that the end of r
// cuts off is yielded all the same, since some servers forget the last blank
// line. The last thing yielded is a read error, if there was one.
func ReadEvents(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var (
			name  string
			data  []string
			first = true
		)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		lines.Split(splitLines())
		for lines.Scan() {
			line := lines.Text()
			if first {
				line, first = strings.TrimPrefix(line, "\uFEFF"), false
			}
			if line == "" {
				if len(data) > 0 && !yield(Event{name, strings.Join(data, "\n")}, nil) {
					return
				}
				name, data = "", nil
				continue
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				name = value
			case "data":
				data = append(data, value)
			}
		}
		if len(data) > 0 && !yield(Event{name, strings.Join(data, "\n")}, nil) {
			return
		}
		if err := lines.Err(); err != nil {
			yield(Event{}, err)
		}
	}
}

// splitLines splits at LF, CRLF and CR. A CR ends its line at once, without
// waiting to see whether an LF follows.
func splitLines() bufio.SplitFunc {
	afterCR := false
	return func(data []byte, atEOF bool) (int, []byte, error) {
		skip := 0
		if afterCR && len(data) > 0 && data[0] == '\n' {
			skip = 1
		}
		end := bytes.IndexAny(data[skip:], "\r\n")
		switch {
		case end >= 0:
			end += skip
			afterCR = data[end] == '\r'
			return end + 1, data[skip:end], nil
		case atEOF && len(data) > skip:
			return len(data), data[skip:], nil
		case atEOF:
			return len(data), nil, nil
		default:
			return 0, nil, nil
		}
	}
}
