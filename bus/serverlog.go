package bus

import (
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

// serverLog passes on what the embedded server warns of.
type serverLog struct{ log *slog.Logger }

var _ server.Logger = (*serverLog)(nil)

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Debug("bus server warns", "msg", fmt.Sprintf(format, v...))
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error("bus server reports", "err", fmt.Sprintf(format, v...))
}

func (l *serverLog) Fatalf(format string, v ...any) {
	l.log.Error("bus server failed", "err", fmt.Sprintf(format, v...))
}
