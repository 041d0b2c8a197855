package console

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// openTwin listens on the other of 127.0.0.1 and ::1, too: "localhost" is both,
// and browsers try ::1 first, so that whoever has the port there would be the
// console to all who open it by that name. The caller has the lock.
func (s *Server) openTwin(ctx context.Context) {
	at, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok {
		return
	}
	twin := net.TCPAddr{IP: net.IPv6loopback, Port: at.Port}
	switch {
	case at.IP.Equal(net.IPv6loopback):
		twin.IP = net.IPv4(127, 0, 0, 1)
	case !at.IP.Equal(net.IPv4(127, 0, 0, 1)):
		return
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", twin.String())
	if errors.Is(err, syscall.EADDRINUSE) {
		s.cfg.Log.Warn("another program has the port of the chat page on the other address of this machine: do not open the page as localhost", "taken", twin.String(), "open", s.listener.Addr().String())
	}
	if err == nil { // else there may be no IPv6
		s.twin = l
	}
}
