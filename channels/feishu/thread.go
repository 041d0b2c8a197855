package feishu

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// threadLife is how long the beginning of a thread is remembered.
const threadLife = 180 * 24 * time.Hour

// A thread's conversation is named by the message with which the thread began:
// an answer is a reply to that, which the platform's thread_id is no good for.
// Messages of a thread may name it by their thread_id, by the root, or by both
// (larksuite/openclaw-lark bot-content.ts, June 2026: root_id alone;
// openclaw/openclaw pull 75024, April 2026: thread_id alone); the table knows
// which belong together.

// inThread finds the conversation of a message from the ids in its event.
func (f *Feishu) inThread(ctx context.Context, ev *event) {
	in := ev.in
	switch {
	case ev.thread != "":
		root := f.known.rootOf(ctx, f.deps.Table, ev.thread)
		if root == "" {
			root = ev.root
			if root == "" {
				root = f.beginning(ctx, ev)
			}
			f.known.begin(ctx, f.deps.Table, ev.thread, root)
		}
		in.Addr.Thread = root
		if ev.parent != "" && in.ReplyTo == nil && ev.parent != root {
			in.ReplyTo = &chat.Quote{ID: ev.parent}
		}
		if in.ReplyTo != nil && in.ReplyTo.ID == root {
			in.ReplyTo = nil
		}
	case ev.root != "" && (ev.topics || f.known.isRoot(ctx, f.deps.Table, ev.root)):
		in.Addr.Thread = ev.root
	}
}

// beginning asks how a thread began that is heard of for the first time.
func (f *Feishu) beginning(ctx context.Context, ev *event) string {
	items, err := f.items(ctx, request{
		op: "message/list", method: http.MethodGet, path: "/open-apis/im/v1/messages",
		query: url.Values{
			"container_id_type": {"thread"}, "container_id": {ev.thread}, "sort_type": {"ByCreateTimeAsc"}, "page_size": {"1"},
		},
	})
	if err != nil {
		f.deps.Log.Debug("the beginning of a thread was not found", "err", err)
		if scopeMissing(err) {
			f.lacking(lackGroup, err)
		}
		return ev.in.MessageID
	}
	return items[0].ID
}

// threadOf learns from the message that ev refers to that both are in a thread,
// which ev did not say.
func (f *Feishu) threadOf(ctx context.Context, ev *event, parent *item) {
	if parent.Thread == "" || ev.in.Addr.Thread != "" {
		return
	}
	root := f.known.rootOf(ctx, f.deps.Table, parent.Thread)
	if root == "" {
		if root = parent.Root; root == "" {
			root = parent.ID
		}
		f.known.begin(ctx, f.deps.Table, parent.Thread, root)
	}
	ev.in.Addr.Thread = root
}

// rootOf is the message with which a thread began, or "".
func (k *known) rootOf(ctx context.Context, t kv.Table, thread string) string {
	if root, ok := k.threads.get(thread); ok {
		return root
	}
	e, err := t.Get(ctx, "thread."+thread)
	if err != nil {
		return ""
	}
	k.threads.put(thread, string(e.Value))
	return string(e.Value)
}

func (k *known) isRoot(ctx context.Context, t kv.Table, message string) bool {
	if is, ok := k.roots.get(message); ok {
		return is
	}
	_, err := t.Get(ctx, "root."+message)
	is := err == nil
	if is {
		k.roots.put(message, true)
	}
	return is
}

// begin remembers how a thread began.
func (k *known) begin(ctx context.Context, t kv.Table, thread, root string) {
	_, one := t.Update(ctx, "thread."+thread, []byte(root), 0, threadLife)
	_, two := t.Update(ctx, "root."+root, []byte(thread), 0, threadLife)
	if one == nil && two == nil {
		k.threads.put(thread, root)
		k.roots.put(root, true)
	}
}

// isHeard says whether the bot was addressed in a thread before: then its
// conversation knows how the thread began.
func (k *known) isHeard(ctx context.Context, t kv.Table, a chat.Address) bool {
	if is, ok := k.heard.get(a.Thread); ok {
		return is
	}
	_, err := t.Get(ctx, "heard."+a.Thread)
	return err == nil
}

func (f *Feishu) hear(ctx context.Context, in *chat.Inbound) {
	if in.Addr.Thread == "" || in.Press != nil || in.Happening != "" || !in.Direct && !in.Mentioned {
		return
	}
	if _, ok := f.known.heard.get(in.Addr.Thread); ok {
		return
	}
	if _, err := f.deps.Table.Update(ctx, "heard."+in.Addr.Thread, []byte("1"), 0, threadLife); err != nil {
		f.deps.Log.Debug("a thread may be quoted again", "err", err)
		return
	}
	f.known.heard.put(in.Addr.Thread, true)
}

// placeOf finds the thread in which a message stood.
func (f *Feishu) placeOf(ctx context.Context, message string) string {
	if thread, ok := f.known.places.get(message); ok {
		return thread
	}
	items, err := f.lookUp(ctx, message)
	if err != nil || items[0].Thread == "" {
		if err == nil || channels.KindOf(err) == channels.Rejected {
			f.known.places.put(message, "")
		}
		return ""
	}
	if root := f.known.rootOf(ctx, f.deps.Table, items[0].Thread); root != "" {
		return root
	}
	if items[0].Root != "" {
		return items[0].Root
	}
	return items[0].ID
}
