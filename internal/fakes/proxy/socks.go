package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// SOCKS5 by RFC 1928, and its user and password by RFC 1929.
const (
	socksVersion   = 5
	byNothing      = 0
	byPassword     = 2
	noMethod       = 0xff
	connectCommand = 1
	ipv4, name     = 1, 3
	notAllowed     = 2
	notReachable   = 4
)

var errSOCKS = errors.New("this is no SOCKS5")

// accept serves who connects until the listener is closed.
func (s *Server) accept() {
	for {
		c, err := s.socks.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			defer c.Close()
			_ = s.tunnel(c) // who does not keep to it is let go
			s.mu.Lock()
			delete(s.open, c)
			s.mu.Unlock()
		})
	}
}

func (s *Server) tunnel(c net.Conn) error {
	let, err := s.greet(c)
	if err != nil {
		return err
	}
	host, err := target(c)
	if err != nil {
		return err
	}
	at, status := s.find(host, let)
	if status != 0 {
		return answer(c, notAllowed)
	}
	there, err := net.Dial("tcp", at)
	if err != nil {
		return answer(c, notReachable)
	}
	if err := answer(c, 0); err != nil {
		_ = there.Close()
		return err
	}
	s.join(c, c, there)
	return nil
}

// greet agrees on a method and hears the user and the password.
func (s *Server) greet(c net.Conn) (let bool, err error) {
	methods, err := counted(c, socksVersion)
	if err != nil {
		return false, err
	}
	method := byte(byNothing)
	if s.opts.User != "" {
		method = byPassword
	}
	if !holds(methods, method) {
		_, _ = c.Write([]byte{socksVersion, noMethod})
		s.find("", false) // somebody without a password
		return false, http.ErrNotSupported
	}
	if _, err := c.Write([]byte{socksVersion, method}); err != nil || method == byNothing {
		return true, err
	}
	user, err := counted(c, 1)
	if err != nil {
		return false, err
	}
	password, err := short(c)
	if err != nil {
		return false, err
	}
	if !s.let(string(user), string(password)) {
		_, _ = c.Write([]byte{1, 1})
		s.find("", false)
		return false, errSOCKS
	}
	_, err = c.Write([]byte{1, 0})
	return true, err
}

func holds(all []byte, one byte) bool {
	for _, b := range all {
		if b == one {
			return true
		}
	}
	return false
}

// counted reads a version, a length and so many bytes.
func counted(c net.Conn, version byte) ([]byte, error) {
	var v [1]byte
	if _, err := io.ReadFull(c, v[:]); err != nil {
		return nil, err
	}
	if v[0] != version {
		return nil, errSOCKS
	}
	return short(c)
}

// short reads a length and so many bytes.
func short(c net.Conn) ([]byte, error) {
	var n [1]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return nil, err
	}
	b := make([]byte, n[0])
	_, err := io.ReadFull(c, b)
	return b, err
}

// target reads what the client wants to be connected with.
func target(c net.Conn) (string, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", err
	}
	if head[0] != socksVersion || head[1] != connectCommand {
		return "", errSOCKS
	}
	var host string
	switch head[3] {
	case ipv4:
		var ip [4]byte
		if _, err := io.ReadFull(c, ip[:]); err != nil {
			return "", err
		}
		host = net.IP(ip[:]).String()
	case name:
		b, err := short(c)
		if err != nil {
			return "", err
		}
		host = string(b)
	default:
		return "", errSOCKS
	}
	var port [2]byte
	_, err := io.ReadFull(c, port[:])
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port[:])))), err
}

func answer(c net.Conn, code byte) error {
	_, err := c.Write([]byte{socksVersion, code, 0, ipv4, 0, 0, 0, 0, 0, 0})
	return err
}
