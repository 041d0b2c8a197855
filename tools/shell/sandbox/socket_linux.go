package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// receiveFile takes an open file that comes with a byte. Bytes without a file
// are the beginning of an error text: they are returned, with -1.
func receiveFile(sock int) (fd int, said []byte, err error) {
	one := make([]byte, 1)
	control := make([]byte, unix.CmsgSpace(4))
	n, oob := 0, 0
	for {
		n, oob, _, _, err = unix.Recvmsg(sock, one, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return -1, nil, fmt.Errorf("hear from the helper: %w", err)
	}
	if n == 0 || oob == 0 {
		return -1, one[:n], nil
	}
	messages, err := unix.ParseSocketControlMessage(control[:oob])
	if err != nil {
		return -1, nil, fmt.Errorf("hear from the helper: %w", err)
	}
	for _, m := range messages {
		if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			return fds[0], nil, nil
		}
	}
	return -1, nil, errors.New("the helper sent something else than a file")
}
