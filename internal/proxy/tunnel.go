package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// tunnelTime bounds the way to a server by a proxy.
const tunnelTime = 30 * time.Second

// Tunnel connects to an address (host:port) by a proxy, which looks its name up.
func Tunnel(ctx context.Context, by *url.URL, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, tunnelTime)
	defer cancel()
	port, known := by.Port(), map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}
	if port == "" {
		port = cmp.Or(known[by.Scheme], "80")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(by.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("reach the proxy: %w", err)
	}
	if by.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: by.Hostname()})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if strings.HasPrefix(by.Scheme, "socks5") {
		err = socks(conn, by.User, address)
	} else {
		err = ask(conn, by, address)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// socks asks for the tunnel as RFC 1928 and 1929 have it.
func socks(conn net.Conn, user *url.Userinfo, address string) error {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	const most = 255
	password, _ := user.Password()
	if name := user.Username(); err != nil || max(len(host), len(name), len(password)) > most {
		return errors.New("the proxy cannot be told this address")
	}
	hear := func(n int) []byte {
		got := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(conn, got)
		}
		return got
	}
	tell := func(b ...byte) {
		if err == nil {
			_, err = conn.Write(b)
		}
	}
	const version, none, byPassword, connect, name = 5, 0, 2, 1, 3
	tell(version, 2, none, byPassword)
	if hear(2)[1] == byPassword {
		tell(append(append([]byte{1, byte(len(user.Username()))}, user.Username()...), append([]byte{byte(len(password))}, password...)...)...)
		if hear(2)[1] != 0 {
			return errors.New("the proxy does not let the bot through: give its user and password")
		}
	}
	tell(append(append([]byte{version, connect, 0, name, byte(len(host))}, host...), byte(port>>8), byte(port))...)
	answer := hear(4)
	switch answer[3] {
	case name:
		hear(int(hear(1)[0]) + 2)
	case 4: // IPv6
		hear(net.IPv6len + 2)
	default:
		hear(net.IPv4len + 2)
	}
	if err == nil && (answer[0] != version || answer[1] != 0) {
		err = fmt.Errorf("the proxy does not connect (SOCKS reply %d)", answer[1])
	}
	return err
}

// ask asks for the tunnel. Nothing behind the answer is read: it is the server's.
func ask(conn net.Conn, by *url.URL, address string) error {
	head := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if by.User != nil {
		password, _ := by.User.Password()
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(by.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return fmt.Errorf("ask the proxy: %w", err)
	}
	const most = 64 << 10
	answer, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(oneByOne{conn}, most), 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("hear from the proxy: %w", err)
	}
	return connected(context.Background(), by, nil, answer)
}

// oneByOne reads single bytes, so that a buffer holds none too many.
type oneByOne struct{ io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(1, len(p))]) }
