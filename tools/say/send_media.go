package say

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"magpie/chat"
	"magpie/tools"
)

//go:embed send_media.md
var sendMediaText string

type sendMediaIn struct {
	FilePaths []string `json:"file_paths" jsonschema:"Paths of the files, in the workspace." rule:"minitems=1,maxitems=10,minlen=1"`
	Message   string   `json:"message,omitempty" jsonschema:"The caption, in Markdown."`
}

// SendMedia makes send_media. Of the options, only the files count.
func SendMedia(out Outbox, o *Options) tools.Tool {
	m := newMessenger(out, o)
	spec := tools.Spec{
		Name: "send_media", Description: strings.TrimSpace(sendMediaText), Category: tools.System, Effect: tools.Acts, Main: "file_paths",
		Aliases: map[string]string{
			"file_path": "file_paths", "path": "file_paths", "paths": "file_paths", "files": "file_paths", "media": "file_paths",
			"caption": "message", "content": "message", "text": "message",
		},
	}
	here := func(tools.Scope, json.RawMessage) bool { return true }
	return tools.New(spec, m.sendMedia, tools.WithStays(here), tools.WithSubjects(func(args json.RawMessage) []string {
		var in sendMediaIn
		if json.Unmarshal(args, &in) != nil {
			return nil
		}
		return m.opt.canonical(in.FilePaths)
	}))
}

func (m messenger) sendMedia(ctx context.Context, sc tools.Scope, in sendMediaIn) (tools.Result, error) {
	ready, wrong := m.opt.look(ctx, sc.Addr.Channel, in.FilePaths)
	defer closeAll(ready)
	if len(ready) == 0 {
		return tools.Result{}, all(wrong)
	}
	msg := draft(sc, sc.Addr, strings.TrimSpace(in.Message))
	var err error
	if msg.Attachments, err = m.opt.storeAll(ctx, ready); err != nil {
		return tools.Result{}, err
	}
	if err := m.out.Publish(ctx, msg); err != nil {
		return tools.Result{}, fmt.Errorf("send files: %w", err)
	}
	return tools.Result{Text: m.opt.report(sc.Addr.Channel, msg.Attachments, wrong), Sources: written(ready)}, nil
}

// report says what was sent and what was not. Of a channel whose limits are not
// known it promises nothing.
func (o *Options) report(channel string, sent []chat.Attachment, wrong []error) string {
	text := "sent to this chat: "
	names := make([]string, len(sent))
	for i, a := range sent {
		names[i] = fmt.Sprintf("%s (%s, %d bytes)", a.Name, a.Kind, a.Size)
		if !o.knows(channel, a.Kind) {
			text = "handed over to be sent to this chat: "
		}
	}
	text += strings.Join(names, ", ")
	for _, err := range wrong {
		text += "\nnot sent: " + err.Error()
	}
	return text
}

func (o *Options) knows(channel string, kind chat.Kind) bool {
	if o.Largest == nil {
		return false
	}
	_, known := o.Largest(channel, kind)
	return known
}
