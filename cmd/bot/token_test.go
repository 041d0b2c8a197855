package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/console"
)

// Neither the token nor the key of a login stands in what services keep: the
// output of the bot at its most talkative, of commands beside it and of their
// errors, whatever is asked of it with the token.
func TestTokenIsInNoOutput(t *testing.T) {
	for name, chosen := range map[string]string{
		"made": "", "chosen": "a-chosen-token", "with what addresses escape": "令牌 &a=b#c%41+d", "a word of the program": "web.token-channel",
	} {
		for _, format := range []string{"json", "text"} {
			t.Run(name+", "+format, func(t *testing.T) {
				t.Parallel()
				dir, token := greeted(t, format, chosen)
				cmd, out := running(t, dir)
				bot, ok := console.FindRunning(filepath.Join(dir, "data"))
				if !ok {
					t.Fatal("no bot is found")
				}
				key := usesToken(t, bot.URL, token())
				said := map[string]string{}
				for _, args := range [][]string{
					{"doctor"}, {"doctor", "--json"}, {"config", "check"}, {"backup", "b.tar.gz"}, {"dlq", "list"}, {"pair", "list"}, {"health"}, {"run"}, {"nonsense"},
				} {
					_, stdout, stderr := run(t, dir, nil, args...)
					said["bot "+strings.Join(args, " ")] = stdout + stderr
				}
				if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
					t.Error(err)
				}
				said["the bot"] = out.String()
				for who, text := range said {
					for what, secret := range map[string]string{
						"token": token(), "escaped token": url.QueryEscape(token()), "token in a path": url.PathEscape(token()),
						"token as Go writes it": strings.Trim(fmt.Sprintf("%q", token()), `"`), "key": key,
					} {
						if strings.Contains(text, secret) {
							t.Errorf("the %s stands in what %s says:\n%s", what, who, text)
						}
					}
				}
				if !strings.Contains(said["the bot"], "console login failed") {
					t.Errorf("the log does not tell of wrong tokens:\n%s", said["the bot"])
				}
			})
		}
	}
}

// What an operator does goes by commands: neither a login of the page nor the
// token as programs send it opens these routes of a real bot.
func TestOperatorsRoutesOfTheBot(t *testing.T) {
	dir, token := greeted(t, "text", "")
	cmd, _ := running(t, dir)
	bot, ok := console.FindRunning(filepath.Join(dir, "data"))
	if !ok {
		t.Fatal("no bot is found")
	}
	ask := func(method, path string, header map[string]string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, bot.URL+path, strings.NewReader("null"))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			r.Header.Set(name, value)
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	in := ask("GET", "/?token="+token(), map[string]string{"Accept": "text/html"})
	_, key, _ := strings.Cut(in.Header.Get("Location"), "#in=")
	login := map[string]string{"Cookie": in.Cookies()[0].String(), console.KeyHeader: key, "Origin": bot.URL, "Sec-Fetch-Site": "same-origin"}
	for who, c := range map[string]struct {
		header map[string]string
		want   int
	}{
		"a login":    {login, http.StatusOK},
		"its cookie": {map[string]string{"Cookie": login["Cookie"], "Origin": bot.URL, "Sec-Fetch-Site": "same-origin"}, http.StatusUnauthorized},
		"its key":    {map[string]string{console.KeyHeader: key, "Origin": bot.URL, "Sec-Fetch-Site": "same-origin"}, http.StatusUnauthorized},
	} {
		if got := ask("GET", "/api/chat/chats", c.header).StatusCode; got != c.want {
			t.Errorf("%s gets %d, want %d", who, got, c.want)
		}
	}
	for _, op := range []string{"op/pair.list", "op/audit.tail", "op/session.show", "op/memory.list", "op/cron.add", "op/dlq.drop", "op/nothing", "op/", "backup"} {
		for who, header := range map[string]map[string]string{"a login": login, "the token": {"Authorization": "Bearer " + token()}} {
			if got := ask("POST", "/api/"+op, header).StatusCode; got != http.StatusUnauthorized {
				t.Errorf("%s, by %s: %d", op, who, got)
			}
			if got := ask("GET", "/api/"+op, header).StatusCode; got < 400 {
				t.Errorf("GET %s, by %s: %d", op, who, got)
			}
		}
	}
	for _, args := range [][]string{{"pair", "list"}, {"dlq", "list"}, {"audit", "verify"}, {"backup", "b.tar.gz"}} {
		if code, stdout, stderr := run(t, dir, nil, args...); code != exitDone {
			t.Errorf("bot %s: %d %s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// usesToken asks the bot with the token in every way, rightly and not, and
// returns the key of a login.
func usesToken(t *testing.T, base, token string) (key string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	in := url.QueryEscape(token)
	for _, c := range []struct {
		method, path, body string
		header             [2]string
	}{
		{"GET", "/?token=" + in, "", [2]string{"Accept", "text/html"}},
		{"GET", "/?token=x" + in, "", [2]string{"Referer", base + "/?token=" + in}},
		{"GET", "/api/chat/chats?token=" + in, "", [2]string{}},
		{"POST", "/login", "token=" + in, [2]string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"POST", "/login", "token=y" + in, [2]string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"POST", "/login", "token=%zz" + in, [2]string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"GET", "/api/chat/chats", "", [2]string{"Authorization", "Bearer " + token}},
		{"GET", "/api/chat/chats", "", [2]string{"Authorization", "Bearer x" + token}},
		{"POST", "/api/op/" + in, token, [2]string{"Authorization", "Bearer " + token}},
		{"POST", "/api/chat/chats/main/messages", token, [2]string{"Authorization", "Bearer " + token}},
		{"POST", "/hooks/" + in, token, [2]string{}},
		{"GET", "/metrics", "", [2]string{"X-Forwarded-For", token}},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		to, got, _ := strings.Cut(res.Header.Get("Location"), "#in=")
		if key == "" {
			key = got
		}
		if strings.Contains(to, in) || strings.Contains(string(body), token) || res.Header.Get("Referrer-Policy") == "" {
			t.Errorf("%s %s: %s, to %q, Referrer-Policy %q: %s", c.method, c.path, res.Status, to, res.Header.Get("Referrer-Policy"), body)
		}
	}
	// What is no HTTP at all is logged by the server itself.
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "GET /?token="+in+" HTTP/9\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	if err == nil {
		_, err = io.ReadAll(conn)
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	return key
}
