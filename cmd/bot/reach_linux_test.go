package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"magpie/internal/console"
	"magpie/internal/need"
)

// Every command that asks the running bot finds it, wherever it listens and
// whether the data folder can hold a socket, on a machine as containers see
// it: with one network of its own, without IPv6 or with it.
func TestCommandsFindTheBotInAContainer(t *testing.T) {
	for _, ipv6 := range []string{"without IPv6", "with IPv6"} {
		t.Run(ipv6, func(t *testing.T) {
			if !need.OwnNetwork(t) {
				return
			}
			network(t, ipv6 == "with IPv6")
			hosts := []string{"0.0.0.0", "", "[::]", "127.0.0.1", "127.0.0.2", "localhost", "10.77.0.1"}
			if ipv6 == "with IPv6" {
				hosts = append(hosts, "[::1]")
			}
			for i, host := range hosts {
				for j, socket := range []string{"socket", "no socket"} {
					listen := fmt.Sprintf("%s:%d", host, 18990+2*i+j)
					t.Run(listen+" "+socket, func(t *testing.T) {
						t.Parallel()
						askEverything(t, listen, socket == "socket")
					})
				}
			}
		})
	}
}

// network is as an engine makes it, with an address of the machine.
func network(t *testing.T, ipv6 bool) {
	t.Helper()
	if !ipv6 {
		for _, name := range []string{"all", "default", "lo"} {
			err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0o600)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
				t.Fatal(err)
			}
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd) //nolint:errcheck // only asked
	chosen, err := unix.NewIfreq("lo:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(chosen.SetInet4Addr(net.IPv4(10, 77, 0, 1).To4()), unix.IoctlIfreq(fd, unix.SIOCSIFADDR, chosen)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		_ = l.Close()
	}
	if (err == nil) != ipv6 {
		t.Fatalf("IPv6: want %v, got %v", ipv6, err)
	}
}

// askEverything starts a bot and has every command ask it.
func askEverything(t *testing.T, listen string, socket bool) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	text := fmt.Sprintf("web: {listen: '%s', token: a-long-token-of-the-test}\nlog: {level: debug}\n", listen)
	err := errors.Join(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600), os.Mkdir(data, 0o700))
	if !socket { // as on a file system that holds none
		err = errors.Join(err, os.Mkdir(filepath.Join(data, console.SocketFile), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd, said := running(t, dir)
	info, err := os.Stat(filepath.Join(data, console.SocketFile))
	if err != nil || socket && info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("socket: %v, %v", info, err)
	}
	for _, c := range operators {
		code, out, errs := fed(t, strings.NewReader(c.in), dir, nil, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Error(err)
	}
	if no := "no socket in the data folder"; strings.Contains(said.String(), no) == socket {
		t.Errorf("%q in the log: %v", no, !socket)
	}
	if _, err := os.Stat(filepath.Join(data, console.SocketFile)); socket && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

// operators are the commands that ask the running bot, whose store they cannot
// open themselves.
var operators = []struct {
	args, in string
	code     int
	want     string
}{
	{"health", "", 0, "ok\n"},
	{"health --ready", "", 0, "ready\n"},
	{"chat", "你好\n", 0, "你好"},
	{"chat --chat second", "hello\n", 0, "Hello!"},
	{"session list", "", 0, "terminal"},
	{"session show web/terminal", "", 0, "你好"},
	{"session clear web/second", "", 0, ""},
	{"memory add web:person:owner likes tea", "", 0, "number 1"},
	{"memory list", "", 0, "web:person:owner"},
	{"memory list web:person:owner", "", 0, "likes tea"},
	{"memory remove web:person:owner 1", "", 0, "likes tea"},
	{"cron add web:terminal 2099-11-24T15:00 later", "", 0, ""},
	{"cron list", "", 0, "later"},
	{"pair list", "", 0, ""},
	{"dlq list", "", 0, ""},
	{"audit verify", "", 0, ""},
	{"mcp list", "", 0, ""},
	{"trace nothing-of-this-name", "", 1, "nothing-of-this-name"},
	{"backup saved.tar.gz", "", 0, "checked"},
	{"restore saved.tar.gz", "", 1, "the bot is running at "},
	{"doctor", "", 0, "ok    store: the running bot uses it"},
}
