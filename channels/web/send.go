package web

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// Send implements channels.Channel. A repeat with the same Outbound.ID is
// recognised and changes nothing.
func (w *Web) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	if err := w.acceptable("send", msg); err != nil {
		return chat.MessageRef{}, err
	}
	if strings.TrimSpace(msg.Text) == "" && len(msg.Buttons) == 0 {
		return chat.MessageRef{}, w.fail("send", channels.Rejected, errors.New("the message is empty"))
	}
	return w.show(ctx, "send", w.botMessage(msg, messageID(msg.ID)), msg.Addr)
}

// SendMedia implements channels.MediaSender: one message with all files. A
// repeat with the same Outbound.ID and files is recognised.
func (w *Web) SendMedia(ctx context.Context, msg chat.Outbound, uploads []channels.Upload) ([]chat.MessageRef, error) {
	if err := w.acceptable("send_media", msg); err != nil {
		return nil, err
	}
	if len(uploads) == 0 || len(uploads) > maxFiles {
		return nil, w.fail("send_media", channels.Rejected, fmt.Errorf("want 1 to %d files, got %d", maxFiles, len(uploads)))
	}
	key := []string{msg.ID, "files"}
	for _, u := range uploads {
		key = append(key, u.Ref, u.Name)
	}
	m := w.botMessage(msg, messageID(key...))
	ref := chat.MessageRef{Channel: w.name, Chat: msg.Addr.Chat, ID: m.ID}
	if _, err := w.history.get(ctx, msg.Addr.Chat, m.ID); err == nil {
		return []chat.MessageRef{ref}, nil
	}
	for i, u := range uploads {
		// The id follows from the message's, so that a send that broke off in
		// the middle leaves nothing behind that its repeat does not replace.
		f, err := w.store(ctx, fmt.Sprintf("%s-%d", m.ID, i), u)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, f)
	}
	ref, err := w.show(ctx, "send_media", m, msg.Addr)
	if err != nil {
		return nil, err
	}
	return []chat.MessageRef{ref}, nil
}

func (w *Web) store(ctx context.Context, id string, u channels.Upload) (file, error) {
	r, err := u.Open(ctx)
	if err != nil {
		return file{}, w.fail("send_media", channels.Temporary, fmt.Errorf("open %q: %w", u.Name, err))
	}
	defer r.Close()
	f, err := w.files.put(ctx, id, u.Name, r)
	if errors.Is(err, errTooLarge) {
		return file{}, w.fail("send_media", channels.TooLong, fmt.Errorf("%q: %w", u.Name, err))
	}
	if err != nil {
		return file{}, w.storeError("send_media", err)
	}
	return f, nil
}

// Edit implements channels.Editor: text and buttons are replaced.
func (w *Web) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	msg.Addr = chat.Address{Channel: w.name, Chat: ref.Chat}
	if err := w.acceptable("edit", msg); err != nil {
		return err
	}
	err := w.history.change(ctx, ref.Chat, ref.ID, func(m *message) {
		m.Text, m.Buttons = msg.Text, msg.Buttons
		m.Final = m.Final || msg.Final
	})
	return w.storeError("edit", err)
}

// Delete implements channels.Deleter.
func (w *Web) Delete(ctx context.Context, ref chat.MessageRef) error {
	if !validID(ref.Chat) {
		return w.fail("delete", channels.Rejected, fmt.Errorf("chat %q is no chat of the page", ref.Chat))
	}
	return w.storeError("delete", w.history.table.Delete(ctx, messageKey(ref.Chat, ref.ID)))
}

// AnswerPress implements channels.Buttoner. A message that is gone is no
// error.
func (w *Web) AnswerPress(ctx context.Context, a chat.Address, ans chat.Answer) error {
	if !validID(a.Chat) {
		return w.fail("answer_press", channels.Rejected, fmt.Errorf("chat %q is no chat of the page", a.Chat))
	}
	if ans.Notice != "" {
		w.live.notify(a.Chat, notice{Press: ans.Press, Text: ans.Notice})
	}
	if ans.Message == "" {
		return nil
	}
	err := w.history.change(ctx, a.Chat, ans.Message, func(m *message) { m.Buttons = nil })
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return w.storeError("answer_press", err)
}

// Typing implements channels.Typer.
func (w *Web) Typing(_ context.Context, a chat.Address) error {
	if !validID(a.Chat) {
		return w.fail("typing", channels.Rejected, fmt.Errorf("chat %q is no chat of the page", a.Chat))
	}
	w.live.typing(a.Chat)
	return nil
}

const maxButtonData = 64 // bytes, as chat.Button promises

func (w *Web) acceptable(op string, msg chat.Outbound) error {
	if !validID(msg.Addr.Chat) || msg.Addr.Thread != "" {
		return w.fail(op, channels.Rejected, fmt.Errorf("%s is no chat of the page", msg.Addr))
	}
	if len(msg.Text) > maxText {
		return w.fail(op, channels.TooLong, fmt.Errorf("%d bytes of text, at most %d fit", len(msg.Text), maxText))
	}
	for _, b := range slices.Concat(msg.Buttons...) {
		if b.Label == "" || b.Data == "" || len(b.Data) > maxButtonData {
			return w.fail(op, channels.Rejected, fmt.Errorf("button %q: want a label and 1 to %d bytes of data", b.Label, maxButtonData))
		}
	}
	return nil
}

func (w *Web) botMessage(msg chat.Outbound, id string) message {
	return message{
		ID: id, Role: roleBot, At: w.now().UTC(), Text: msg.Text,
		Buttons: msg.Buttons, Turn: msg.Turn, Final: msg.Final,
	}
}

func (w *Web) show(ctx context.Context, op string, m message, a chat.Address) (chat.MessageRef, error) {
	if _, err := w.history.add(ctx, a.Chat, m); err != nil {
		return chat.MessageRef{}, w.storeError(op, err)
	}
	if m.Final {
		w.live.final(a.Chat, m)
	}
	return chat.MessageRef{Channel: w.name, Chat: a.Chat, ID: m.ID}, nil
}

// storeError classifies trouble with the table. Without an answer the write may
// have happened; making it again does no harm (Limits.Resend).
func (w *Web) storeError(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := channels.Temporary
	switch {
	case errors.Is(err, kv.ErrNotFound):
		kind = channels.Rejected
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		kind = channels.Ambiguous
	}
	return w.fail(op, kind, err)
}

// messageID derives the id under which the page knows an outbound message.
func messageID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "o" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}
