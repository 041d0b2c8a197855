package tools

import (
	"context"
	"time"

	"magpie/chat"
)

// errRunes is how much of a failure's text an event carries.
const errRunes = 300

// record tells of every call, its start and its end: events, audit, statistics
// and log.
func (e *Executor) record(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		started := time.Now()
		c.session = c.scope.Addr.Session()
		e.tell(c, chat.ToolRequested, &chat.ToolEvent{})
		e.audit(c, AuditStart, started, Result{})
		res, err := next(ctx, c)
		took := time.Since(started) - c.waited // for a person, who is no part of the tool
		res.Duration = took
		e.stats.add(c.entry, res.OK, took)
		e.audit(c, AuditEnd, started, res)

		kind, failed := chat.ToolCompleted, ""
		if !res.OK {
			kind, failed = chat.ToolFailed, clip(e.opt.Redact.Text(clip(res.Text, 2*errRunes)), errRunes)
		}
		e.tell(c, kind, &chat.ToolEvent{Duration: took, Err: failed})
		e.opt.Log.Info("tool call", "tool", c.name, "channel", c.scope.Addr.Channel, "session", c.session,
			"trace", c.scope.Trace, "dur", took, "err", string(res.Err))
		return res, err
	}
}

func (e *Executor) tell(c *call, kind chat.EventKind, te *chat.ToolEvent) {
	if e.opt.Events == nil {
		return
	}
	te.CallID, te.Name = c.scope.CallID, c.name
	e.opt.Events(chat.Event{
		V: chat.Version, Kind: kind, At: time.Now(), Addr: c.scope.Place(),
		Trace: c.scope.Trace, Turn: c.scope.Turn, Tool: te,
		Quiet: c.scope.FromJob,
	})
}

// audit writes one record. A log that cannot be written is reported and does
// not stop the bot.
func (e *Executor) audit(c *call, event AuditEvent, started time.Time, res Result) {
	if e.opt.Audit == nil {
		return
	}
	r := AuditRecord{Event: event, Timestamp: started.UTC(), Status: "running"}
	if event == AuditStart {
		c.shown = e.opt.Redact.arguments(c.decoded(), e.main(c.name))
	} else {
		e.canonical(c)
		r.Status, r.Result = "ok", e.opt.Redact.short(res.Text, auditResultRunes)
		if !res.OK {
			r.Status = string(res.Err)
		}
		r.DurationMS = float64(res.Duration.Microseconds()) / 1000
		r.Setting = e.opt.Redact.whole(c.setting, auditMainRunes)
	}
	e.writeAudit(c, r)
}

// auditAnswer records how a question was decided, before the call runs.
func (e *Executor) auditAnswer(c *call, q *Question) {
	if e.opt.Audit == nil || q.Answer.Verdict == "" {
		return
	}
	e.canonical(c)
	answer := e.opt.Redact.answer(q)
	e.writeAudit(c, AuditRecord{
		Event: AuditDecision, Timestamp: time.Now().UTC(), Status: q.Answer.Verdict,
		AuditFrame: AuditFrame{Setting: e.opt.Redact.whole(q.Setting, auditMainRunes), Approval: answer},
	})
}

// canonical has the audit show the arguments under their right names, once these
// are known.
func (e *Executor) canonical(c *call) {
	if c.args != nil && string(c.args) != c.raw {
		c.shown = e.opt.Redact.arguments(c.values, c.entry.spec.Main)
	}
}

func (e *Executor) writeAudit(c *call, r AuditRecord) {
	r.CallID, r.Tool, r.Session = c.scope.CallID, c.name, c.session
	r.Channel, r.Sender, r.Arguments = c.scope.Addr.Channel, c.scope.Sender.ID, c.shown
	if err := e.opt.Audit.Append(r); err != nil {
		e.opt.Log.Error("audit record not written", "tool", c.name, "session", c.session, "trace", c.scope.Trace, "err", err)
	}
}

// main is the main parameter of the tool that a model means by name.
func (e *Executor) main(name string) string {
	if found := e.reg.entry(name); found != nil {
		return found.spec.Main
	}
	return ""
}
