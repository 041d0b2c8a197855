package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Limits of a message (resources/message and reference "Uploading Files", read
// November 2026).
const (
	maxContent = 2000
	maxNonce   = 25
	maxFile    = 10 << 20
	maxFiles   = 10
)

// form is the body of a message that is created or edited.
type form struct {
	Content     *string         `json:"content"`
	Nonce       any             `json:"nonce"`
	Enforce     bool            `json:"enforce_nonce"`
	TTS         bool            `json:"tts"`
	Embeds      []any           `json:"embeds"`
	Mentions    *allowed        `json:"allowed_mentions"`
	Reference   *reference      `json:"message_reference"`
	Components  *[]component    `json:"components"`
	Stickers    []string        `json:"sticker_ids"`
	Flags       *int            `json:"flags"`
	Attachments []attachment    `json:"attachments"`
	Extra       json.RawMessage `json:"poll"`
}

type allowed struct {
	Parse   []string `json:"parse"`
	Users   []string `json:"users"`
	Roles   []string `json:"roles"`
	Replied bool     `json:"replied_user"`
}

type reference struct {
	Type    int    `json:"type"`
	Message string `json:"message_id"`
	Channel string `json:"channel_id"`
	Guild   string `json:"guild_id"`
	Must    *bool  `json:"fail_if_not_exists"`
}

type component struct {
	Type       int         `json:"type"`
	ID         int         `json:"id"`
	Style      int         `json:"style"`
	Label      string      `json:"label"`
	CustomID   string      `json:"custom_id"`
	Disabled   bool        `json:"disabled"`
	Emoji      any         `json:"emoji"`
	URL        string      `json:"url"`
	Components []component `json:"components"`
}

type attachment struct {
	ID          any     `json:"id"`
	Name        string  `json:"filename"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Duration    float64 `json:"duration_secs"`
	Waveform    string  `json:"waveform"`
}

// read decodes a JSON or multipart body.
func (r *request) read() (form, []File, *apiError) {
	var f form
	kind, params, err := mime.ParseMediaType(r.kind)
	switch {
	case err == nil && kind == "application/json":
		return f, nil, decode(r.body, &f)
	case err == nil && kind == "multipart/form-data":
		files, e := readMultipart(multipart.NewReader(bytes.NewReader(r.body), params["boundary"]), &f)
		return f, files, e
	}
	return f, nil, badForm("_errors", "CONTENT_TYPE_INVALID",
		`Expected "Content-Type" header to be one of {'application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'}.`)
}

func decode(body []byte, into any) *apiError {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return no(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		}
		return badForm("_errors", "UNKNOWN_FIELD", "%v", err)
	}
	return nil
}

func readMultipart(parts *multipart.Reader, f *form) ([]File, *apiError) {
	var files []File
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, no(http.StatusBadRequest, 50035, "Invalid Form Body")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, no(http.StatusBadRequest, 50035, "Invalid Form Body")
		}
		switch name := part.FormName(); {
		case name == "payload_json":
			if e := decode(data, f); e != nil {
				return nil, e
			}
		case strings.HasPrefix(name, "files[") && part.FileName() != "":
			kind := part.Header.Get("Content-Type")
			files = append(files, File{Name: part.FileName(), MIME: kind, Data: data})
		default:
			return nil, badForm(name, "UNKNOWN_FIELD", "There is no such part.")
		}
	}
}

// check refuses what Discord refuses in any message.
func (f *form) check(files []File) *apiError {
	if f.Content != nil && units(*f.Content) > maxContent {
		return badForm("content", "BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", maxContent)
	}
	if len(f.nonce()) > maxNonce {
		return badForm("nonce", "BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", maxNonce)
	}
	if len(files) > maxFiles {
		return no(http.StatusBadRequest, 30015, "Maximum number of attachments in a message reached (10)")
	}
	for _, file := range files {
		if len(file.Data) > maxFile {
			return no(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
		}
	}
	for i, a := range f.Attachments {
		if n, err := strconv.Atoi(fmt.Sprint(a.ID)); len(files) > 0 && (err != nil || n < 0 || n >= len(files)) {
			return badForm("attachments", "BASE_TYPE_BAD_INT", "Attachment %d has no file.", i)
		}
	}
	if f.Mentions != nil {
		for _, kind := range f.Mentions.Parse {
			if kind != "users" && kind != "roles" && kind != "everyone" {
				return badForm("allowed_mentions", "BASE_TYPE_CHOICES", "Value must be one of {'users', 'roles', 'everyone'}.")
			}
		}
	}
	if f.Components == nil {
		return nil
	}
	return checkRows(*f.Components)
}

func checkRows(rows []component) *apiError {
	if len(rows) > 5 {
		return badForm("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > 5 {
			return badForm("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
		}
		for _, b := range row.Components {
			switch {
			case b.Type != 2 || b.Style < 1 || b.Style > 4:
				return badForm("components", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (2,).")
			case b.CustomID == "" || len([]rune(b.CustomID)) > 100:
				return badForm("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
			case b.Label == "" && b.Emoji == nil, units(b.Label) > 80:
				return badForm("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 80 in length.")
			case seen[b.CustomID]:
				return badForm("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
			}
			seen[b.CustomID] = true
		}
	}
	return nil
}

func (f *form) flags() int {
	if f.Flags == nil {
		return 0
	}
	return *f.Flags
}

func (f *form) nonce() string {
	if f.Nonce == nil {
		return ""
	}
	return fmt.Sprint(f.Nonce)
}

func (f *form) buttons() [][]Button {
	if f.Components == nil {
		return nil
	}
	var rows [][]Button
	for _, row := range *f.Components {
		var buttons []Button
		for _, b := range row.Components {
			buttons = append(buttons, Button{b.Label, b.CustomID})
		}
		rows = append(rows, buttons)
	}
	return rows
}

func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
