package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxLine   = 16 << 20         // bytes of one message
	maxSpread = 64 << 10         // bytes of a message that is spread over lines
	maxLines  = 400              // of such a message
	maxStarts = 16               // places of a line at which a message may begin
	maxNoise  = 64 << 20         // bytes without any message, then the server is none
	writeWait = 30 * time.Second // for a server to take a message
)

// lines speaks with a started server: a message a line (MCP 2025-11-25, basic,
// transports). The SDK's own connection ends at the first thing that is no
// message; but servers print, and so do the libraries that they use. What is
// none is told to noise and passed over.
type lines struct {
	in    io.WriteCloser
	out   io.ReadCloser
	noise func(line string)
	heard func(result []byte) // of every answer

	write sync.Mutex
	ready chan jsonrpc.Message
	done  chan struct{}
	once  sync.Once
	err   error // why the server is not read any more; after ready is closed
}

var _ sdk.Transport = (*lines)(nil)

// Connect implements sdk.Transport.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	l.ready, l.done = make(chan jsonrpc.Message), make(chan struct{})
	go func() {
		defer close(l.ready)
		defer func() {
			if p := recover(); p != nil {
				l.err = fmt.Errorf("read the server: %v", p)
			}
		}()
		l.err = l.follow()
	}()
	return l, nil
}

// SessionID implements sdk.Connection.
func (l *lines) SessionID() string { return "" }

// Read implements sdk.Connection.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.done:
		return nil, io.EOF
	case m, ok := <-l.ready:
		if !ok {
			return nil, l.err
		}
		return m, nil
	}
}

// Write implements sdk.Connection.
func (l *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	l.write.Lock()
	defer l.write.Unlock()
	if timed, ok := l.in.(interface{ SetWriteDeadline(at time.Time) error }); ok {
		_ = timed.SetWriteDeadline(time.Now().Add(writeWait)) // a file that cannot wait is written to without
	}
	_, err = l.in.Write(append(raw, '\n'))
	return err
}

// Close implements sdk.Connection.
func (l *lines) Close() error {
	l.once.Do(func() {
		close(l.done)
		_ = l.in.Close() // closed already, when the server was asked to end
	})
	return l.out.Close()
}

// follow hands out messages until the output ends.
func (l *lines) follow() error {
	from := bufio.NewReaderSize(l.out, maxStray)
	var held spread
	quiet := 0 // bytes since the last message
	for {
		line, size, err := readLine(from)
		if quiet += size; quiet > maxNoise {
			return errors.New("it writes to its standard output what are no messages; a server of MCP writes anything else to its error output")
		}
		var found []jsonrpc.Message
		noise := []string{string(line)}
		if n := frame(line); n == 0 || err != nil {
			found, noise = held.add(line)
		} else if found, from = framed(from, n); len(found) > 0 {
			noise = nil
		}
		for _, text := range noise {
			l.noise(text)
		}
		for _, m := range found {
			quiet = 0
			if r, ok := m.(*jsonrpc.Response); ok {
				l.heard(r.Result)
			}
			select {
			case l.ready <- m:
			case <-l.done:
				return io.EOF
			}
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads up to the next line feed, without what surrounds a message. Of
// a line that is too long for one nothing but its beginning is kept.
func readLine(from *bufio.Reader) (line []byte, size int, err error) {
	for {
		piece, err := from.ReadSlice('\n')
		if size += len(piece); size <= maxLine {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if size > maxLine {
				line = append([]byte("(a line that is too long) "), line[:sayRunes]...)
			}
			return bytes.Trim(line, " \t\r\n\x00\ufeff"), size, err
		}
	}
}

// spread puts together a message that stands on several lines, which it should
// not.
type spread struct {
	held  []byte
	count int
}

// add takes the next line. It returns the messages that are whole now, and what
// has turned out to be none.
func (s *spread) add(line []byte) (found []jsonrpc.Message, noise []string) {
	if len(line) == 0 {
		return nil, nil
	}
	before := *s
	*s = spread{}
	if found, noise = messages(line); len(found) > 0 {
		return found, append(before.noise(), noise...)
	}
	if before.held != nil {
		joined := append(append(before.held, '\n'), line...)
		if found, more := messages(joined); len(found) > 0 {
			return found, more
		}
		if begun(joined) && before.count < maxLines {
			*s = spread{joined, before.count + 1}
			return nil, nil
		}
		noise = append(before.noise(), noise...)
	}
	if begun(line) {
		*s = spread{bytes.Clone(line), 1}
		return nil, before.noise()
	}
	return nil, noise
}

func (s *spread) noise() []string {
	if s.held == nil {
		return nil
	}
	return []string{string(s.held)}
}

// begun says whether bytes are the beginning of a JSON object or list.
func begun(raw []byte) bool {
	if len(raw) > maxSpread || raw[0] != '{' && raw[0] != '[' {
		return false
	}
	var v json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(raw)).Decode(&v), io.ErrUnexpectedEOF)
}

// messages reads a line: a message, a list of some (a batch, until 2025-03-26),
// or one that follows what was printed without a line end. There only answers
// count: it may as well be a server's log of what it was asked.
func messages(line []byte) (found []jsonrpc.Message, noise []string) {
	if line[0] == '{' || line[0] == '[' {
		if found, noise = values(line); len(found) > 0 {
			return found, noise
		}
	}
	at := 0
	for range maxStarts {
		next := bytes.IndexByte(line[at:], '{')
		if next < 0 {
			break
		}
		at += next
		if answers, rest := values(line[at:]); len(answers) > 0 && at > 0 {
			if _, ok := answers[0].(*jsonrpc.Response); ok {
				return answers[:1], append(rest, string(line[:at]))
			}
		}
		at++
	}
	return nil, []string{string(line)}
}

// values are the messages among JSON values that follow each other.
func values(raw []byte) (found []jsonrpc.Message, noise []string) {
	from := json.NewDecoder(bytes.NewReader(raw))
	for {
		start := from.InputOffset()
		var v json.RawMessage
		if err := from.Decode(&v); err != nil {
			if rest := bytes.TrimSpace(raw[start:]); len(rest) > 0 {
				noise = append(noise, string(rest))
			}
			return found, noise
		}
		batch := []json.RawMessage{v}
		if v[0] == '[' && json.Unmarshal(v, &batch) != nil {
			batch = nil
		}
		count := len(found)
		for _, one := range batch {
			if m, err := jsonrpc.DecodeMessage(one); err == nil {
				found = append(found, m)
			}
		}
		if len(found) == count {
			noise = append(noise, string(v))
		}
	}
}

// frame is the length in a header as language servers write it, 0 for anything
// else.
func frame(line []byte) int {
	const header = "content-length:"
	if len(line) <= len(header) || !bytes.EqualFold(line[:len(header)], []byte(header)) {
		return 0
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[len(header):])))
	if err != nil || n < 0 || n > maxLine {
		return 0
	}
	return n
}

// framed reads what stands behind such a header: further ones, an empty line,
// and the message without a line end. What turns out to be something else is
// read again, by the line.
func framed(from *bufio.Reader, n int) ([]jsonrpc.Message, *bufio.Reader) {
	again := func(raw []byte) *bufio.Reader {
		return bufio.NewReaderSize(io.MultiReader(bytes.NewReader(raw), from), maxStray)
	}
	for {
		line, _, err := readLine(from)
		switch {
		case err != nil, len(line) > 0 && (line[0] == '{' || bytes.IndexByte(line, ':') < 0):
			return nil, again(append(line, '\n'))
		case len(line) > 0:
			continue
		}
		break
	}
	if head, err := from.Peek(1); err != nil || head[0] != '{' && head[0] != '[' {
		return nil, from
	}
	var body []byte
	for ends := 0; len(body) < n; {
		b, err := from.ReadByte()
		if err != nil {
			break
		}
		body = append(body, b)
		if b != '\n' {
			continue
		}
		// The header may have been somebody's log, and this a line as usual.
		if ends++; ends <= maxStarts {
			if found, _ := messages(bytes.TrimSpace(body)); len(found) > 0 {
				return found, from
			}
		}
	}
	if found, _ := messages(body); len(found) > 0 {
		return found, from
	}
	return nil, again(body)
}
