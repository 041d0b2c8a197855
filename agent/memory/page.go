package memory

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
)

// A page is a line for each note: number, Unix seconds, source and text, with
// tabs between them, and as JSON the sources of text from outside if it has any.
// Notes hold neither tabs nor line ends. Ten thousand notes are read in a
// millisecond, as JSON it would be twenty.
const pageHead = "notes 1\n"

func encode(entries []Entry) []byte {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, e := range entries {
		b.WriteString(strconv.Itoa(e.N))
		b.WriteByte('\t')
		b.WriteString(strconv.FormatInt(e.At.Unix(), 10))
		b.WriteByte('\t')
		b.WriteString(e.Source)
		b.WriteByte('\t')
		b.WriteString(e.Text)
		if len(e.Sources) > 0 {
			b.WriteByte('\t')
			sources, _ := json.Marshal(e.Sources) // of texts and times: it cannot fail
			b.Write(sources)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func decode(value []byte) ([]Entry, error) {
	if len(value) == 0 {
		return nil, nil
	}
	text, ok := strings.CutPrefix(string(value), pageHead)
	if !ok {
		return nil, fmt.Errorf("a page begins with %q, want %q", value[:min(len(value), len(pageHead))], pageHead)
	}
	entries := make([]Entry, 0, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 4 && len(parts) != 5 {
			return nil, fmt.Errorf("a line has %d fields, want 4 or 5", len(parts))
		}
		n, err := strconv.Atoi(parts[0])
		if err != nil {
			return nil, err
		}
		at, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return nil, err
		}
		e := Entry{N: n, At: time.Unix(at, 0).UTC(), Source: parts[2], Text: parts[3]}
		if len(parts) == 5 {
			if err := json.Unmarshal([]byte(parts[4]), &e.Sources); err != nil {
				return nil, err
			}
		} else if strings.HasSuffix(e.Source, Outside) { // as older versions wrote it
			e.Sources = []chat.Source{{Kind: chat.SourceUnknown, At: e.At}}
		}
		entries = append(entries, e)
	}
	return entries, nil
}
