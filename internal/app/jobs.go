package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/cron"
	"magpie/cron/desk"
)

// openJobs opens the reminders and jobs of all chats.
func (p *program) openJobs() (*cron.Store, error) {
	zone := p.cfg.Timezone
	if zone == "" {
		zone = "Local"
	}
	return cron.NewStore(p.bus.Table("jobs"), &cron.StoreOptions{
		Now: p.now, Zone: zone, Misfire: misfire(p.cfg.Cron.Misfire), PerChat: p.cfg.Cron.MaxJobsPerChat,
	})
}

// desk is where reminders are asked for.
func (p *program) desk() *desk.Desk { return desk.New(p.jobs, p.bus.Table("desk")) }

func misfire(m config.Misfire) cron.Misfire {
	return cron.Misfire{Policy: cron.Policy(m.Policy), Within: m.Within}
}

// now is what the clock of the jobs shows.
func (p *program) now() time.Time {
	if p.opts.clock != nil {
		return p.opts.clock.Now()
	}
	return time.Now()
}

// reportWait bounds what is done about the receipt of a slot.
const reportWait = 20 * time.Second

// settle tells a job what became of its slot when out was the outcome of one:
// failed is nil, or why out was given up. A notice that was delivered also
// joins the conversation. It runs before out leaves its queue, so that after a
// crash it is done again; an error has out handed over again.
func (p *program) settle(ctx context.Context, out chat.Outbound, failed error) error {
	ctx, cancel := context.WithTimeout(ctx, reportWait)
	defer cancel()
	job, slot, notice := cron.ParseSlotID(out.ID)
	if !notice {
		ok := false
		if out.Slot != nil {
			job, slot, ok = cron.ParseSlotID(out.Slot.ID)
		}
		if !ok {
			return nil
		}
	}
	receipt, err := p.receipt(ctx, out.ID)
	if err != nil {
		return err
	}
	switch {
	case failed != nil:
		receipt.Err = failed.Error()
	case out.Slot != nil && out.Slot.Err != "":
		receipt.Err = out.Slot.Err
	}
	if notice && failed == nil {
		if err := p.overhear(ctx, out); err != nil {
			return err
		}
	}
	if quiet(out) && out.Slot.Err == "" {
		err = p.jobs.Ended(ctx, out.Addr, job, slot)
	} else {
		err = p.jobs.Report(ctx, out.Addr, job, slot, receipt)
	}
	if errors.Is(err, cron.ErrCorrupt) {
		p.log.Error("the outcome of a job is not noted", "job", job, "trace", out.Trace, "err", err)
	} else if err != nil {
		return fmt.Errorf("report slot %q: %w", out.ID, err)
	}
	return nil
}

// receipt reads the receipt of a message; an empty one when there is none.
func (p *program) receipt(ctx context.Context, id string) (chat.Receipt, error) {
	r, found, err := p.bus.Receipts().Receipt(ctx, id)
	if err != nil || found {
		return r, err
	}
	return chat.Receipt{ID: id, At: p.now().UTC()}, nil
}

// overhear lets the conversation know of a notice, so that a person can answer
// it. A conversation that takes no more is told nothing: the notice is there.
func (p *program) overhear(ctx context.Context, out chat.Outbound) error {
	in := chat.Inbound{Meta: out.Meta, Origin: chat.FromBot, Text: out.Text, Sources: out.Sources}
	in.ID, in.At = "shown:"+out.ID, p.now()
	err := p.bus.PublishInbound(ctx, in, false)
	if errors.Is(err, bus.ErrMailboxFull) || errors.Is(err, bus.ErrStoreFull) || errors.Is(err, bus.ErrTooLarge) {
		p.log.Warn("a reminder is not in the conversation", "session", in.Addr.Session(), "trace", in.Trace, "err", err)
		return nil
	}
	return err
}
