package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// way is the bot's end of a door: it takes connections of a command in.
type way struct {
	ours   int
	theirs *os.File // for the warden
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// mostConnections is how many a command may have at once.
const mostConnections = 128

func openWay(ctx context.Context, serve func(context.Context, net.Conn)) (*way, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	w := &way{ours: pair[0], theirs: os.NewFile(uintptr(pair[1]), "network of a command")}
	ctx, w.cancel = context.WithCancel(ctx)
	w.all.Go(func() { w.accept(ctx, serve) })
	return w, nil
}

// accept ends when the warden does.
func (w *way) accept(ctx context.Context, serve func(context.Context, net.Conn)) {
	room := make(chan struct{}, mostConnections)
	for {
		fd, _, err := receiveFile(w.ours)
		if err != nil || fd < 0 {
			return
		}
		file := os.NewFile(uintptr(fd), "connection of a command")
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		w.all.Go(func() {
			defer func() { <-room }()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			defer conn.Close()
			if serve != nil {
				serve(ctx, conn)
			}
		})
	}
}

// close ends all connections and waits for those who serve them.
func (w *way) close() {
	w.cancel()
	w.theirs.Close()
	_ = unix.Shutdown(w.ours, unix.SHUT_RDWR) // a warden that hangs is no reason to
	w.all.Wait()
	unix.Close(w.ours)
}
