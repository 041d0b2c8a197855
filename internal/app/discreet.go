package app

import (
	"context"
	"fmt"
	"log/slog"

	"magpie/tools"
)

// discreet is a log that knows the configured secrets and writes none of them,
// whoever puts one into an error or an address: logs are kept, shipped and
// shown to others.
type discreet struct {
	slog.Handler
	redact *tools.Redactor
}

// Handle implements slog.Handler.
func (d *discreet) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, d.redact.Known(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(d.attr(a))
		return true
	})
	return d.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (d *discreet) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = d.attr(a)
	}
	return &discreet{d.Handler.WithAttrs(clean), d.redact}
}

// WithGroup implements slog.Handler.
func (d *discreet) WithGroup(name string) slog.Handler {
	return &discreet{d.Handler.WithGroup(name), d.redact}
}

func (d *discreet) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(d.redact.Known(a.Value.String()))
	case slog.KindGroup:
		var clean []slog.Attr
		for _, inner := range a.Value.Group() {
			clean = append(clean, d.attr(inner))
		}
		a.Value = slog.GroupValue(clean...)
	case slog.KindAny: // an error, a list: it stays what it is unless a secret is in it
		text := fmt.Sprint(a.Value.Any())
		if clean := d.redact.Known(text); clean != text {
			a.Value = slog.StringValue(clean)
		}
	}
	return a
}
