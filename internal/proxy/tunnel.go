package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

// tunnelTime bounds the way to a server by a proxy.
const tunnelTime = 30 * time.Second

// Tunnel connects to an address (host:port) by a proxy, which looks its name up.
func Tunnel(ctx context.Context, by *url.URL, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, tunnelTime)
	defer cancel()
	if strings.HasPrefix(by.Scheme, "socks5") {
		return socks(ctx, by, address)
	}
	port := by.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[by.Scheme]
	}
	if port == "" {
		port = "80"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(by.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("reach the proxy: %w", err)
	}
	if by.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: by.Hostname()})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = ask(conn, by, address)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func socks(ctx context.Context, by *url.URL, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if by.User != nil {
		password, _ := by.User.Password()
		auth = &proxy.Auth{User: by.User.Username(), Password: password}
	}
	host := by.Host
	if by.Port() == "" {
		host = net.JoinHostPort(by.Hostname(), "1080")
	}
	d, err := proxy.SOCKS5("tcp", host, auth, new(net.Dialer))
	if err != nil {
		return nil, fmt.Errorf("use the proxy: %w", err)
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
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
