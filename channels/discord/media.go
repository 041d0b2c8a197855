package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
	"magpie/channels/rest"
	"magpie/chat"
)

const (
	// maxFiles is how many files one message may carry, maxRequest how many
	// bytes one request (reference "Uploading Files", read November 2026).
	maxFiles   = 10
	maxRequest = 25 << 20
	// formRoom is left for the form around the files.
	formRoom = 64 << 10

	publicCDN   = "https://cdn.discordapp.com"
	publicMedia = "https://media.discordapp.net"
)

// fileServers are where Discord keeps files: its own, and its copies of the
// pictures that embeds show.
var fileServers = []string{publicCDN, publicMedia, "https://images-ext-1.discordapp.net", "https://images-ext-2.discordapp.net"}

// fileInfo describes a file of the form by its number.
type fileInfo struct {
	ID   int    `json:"id"`
	Name string `json:"filename"`
}

// SendMedia sends files, as many together as a request may hold. When it fails
// half-way the refs of what was sent come with the error.
func (d *Discord) SendMedia(ctx context.Context, msg chat.Outbound, ups []channels.Upload) ([]chat.MessageRef, error) {
	var refs []chat.MessageRef
	for first := 0; first < len(ups); {
		last := fitting(ups, first)
		part := chat.Outbound{Meta: msg.Meta}
		if first == 0 {
			part.Text, part.ReplyTo = msg.Text, msg.ReplyTo
		}
		if last == len(ups) {
			part.Buttons = msg.Buttons
		}
		ref, err := d.sendFiles(ctx, part, ups[first:last], first)
		if err != nil {
			return refs, err
		}
		refs = append(refs, ref)
		first = last
	}
	return refs, nil
}

// fitting is the end of the files from first on that go into one request.
func fitting(ups []channels.Upload, first int) int {
	size, end := int64(formRoom), first
	for end < len(ups) && end-first < maxFiles {
		if size += max(0, ups[end].Size); size > maxRequest && end > first {
			break
		}
		end++
	}
	return end
}

func (d *Discord) sendFiles(ctx context.Context, msg chat.Outbound, ups []channels.Upload, first int) (chat.MessageRef, error) {
	const op = "create message"
	select { // the form stands in memory
	case d.api.uploads <- struct{}{}:
		defer func() { <-d.api.uploads }()
	case <-ctx.Done():
		return chat.MessageRef{}, d.api.Fail(op, channels.Temporary, ctx.Err())
	}
	c := d.envelope(msg)
	same := []string{msg.ID, strconv.Itoa(first)}
	var files []*file
	for i, up := range ups {
		f, err := read(ctx, up, i)
		if err != nil {
			return chat.MessageRef{}, d.api.Unreadable(op, err)
		}
		files = append(files, f)
		c.Attachments = append(c.Attachments, fileInfo{i, f.name})
		same = append(same, up.Ref, up.Name, strconv.FormatInt(up.Size, 10))
	}
	c.Nonce = nonce(same...)
	return d.post(ctx, msg, c, files)
}

// file is an upload that was read.
type file struct {
	name, mime string
	data       []byte
}

func read(ctx context.Context, up channels.Upload, n int) (*file, error) {
	r, err := up.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &file{name: fileName(up.Name, n), mime: up.MIME}
	f.data, err = io.ReadAll(io.LimitReader(r, maxRequest)) // more would be refused anyway
	return f, err
}

// fileName is a name that stands in one line of a form.
func fileName(name string, n int) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, path.Base("/"+strings.ToValidUTF8(name, "_")))
	if name == "/" || name == "" || name == "." {
		return fmt.Sprintf("file%d", n)
	}
	return name
}

// form is a message with files as Discord takes it.
func form(c create, files []*file) (kind string, body []byte, err error) {
	var parts []*discordgo.File
	for _, f := range files {
		parts = append(parts, &discordgo.File{Name: f.name, ContentType: f.mime, Reader: bytes.NewReader(f.data)})
	}
	return discordgo.MultipartBodyWithJSON(c, parts)
}

// source is what Attachment.Source holds: where a file is, and where to ask
// again when its address has run out, which it does after a day.
type source struct {
	Channel string `json:"c,omitempty"`
	Message string `json:"m,omitempty"`
	File    string `json:"f,omitempty"`
	URL     string `json:"u"`
}

func (s source) String() string {
	data, err := json.Marshal(s)
	if err != nil {
		return "" // strings always can
	}
	return string(data)
}

// Fetch opens an inbound file. The context must last until it is read.
func (d *Discord) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	const op = "download"
	var s source
	if err := json.Unmarshal([]byte(a.Source), &s); err != nil {
		return nil, d.api.Fail(op, channels.Rejected, errors.New("the source is not one of Discord's"))
	}
	body, err := d.download(ctx, s.URL)
	if channels.KindOf(err) != channels.Rejected || s.Message == "" {
		return body, err
	}
	fresh, again := d.refresh(ctx, s)
	if again != nil {
		return nil, errors.Join(err, again)
	}
	return d.download(ctx, fresh)
}

// refresh asks for the message once more: its addresses are signed anew.
func (d *Discord) refresh(ctx context.Context, s source) (string, error) {
	m, err := d.getMessage(ctx, s.Channel, s.Message)
	if err != nil {
		return "", err
	}
	if address := m.address(s.File); address != "" {
		return address, nil
	}
	return "", d.api.Fail("get message", channels.Rejected, errors.New("the message has no such file any more"))
}

func (d *Discord) download(ctx context.Context, address string) (io.ReadCloser, error) {
	const op = "download"
	if !d.trusted(address) {
		return nil, d.api.Fail(op, channels.Rejected, errors.New("the file is not on a server of Discord's"))
	}
	return d.api.Open(ctx, rest.Download{Op: op, URL: address})
}

// cdn is the server of files that have no address of their own: Discord's, or
// the one that stands in for it.
func (d *Discord) cdn() string {
	if d.cfg.APIBase == publicAPI {
		return publicCDN
	}
	return d.cfg.APIBase
}

// trusted tells the servers that files may be fetched from: nobody else is
// asked, whatever a message says.
func (d *Discord) trusted(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	origin := u.Scheme + "://" + u.Host
	return slices.Contains(fileServers, origin) || origin == d.api.base.Scheme+"://"+d.api.base.Host
}
