package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/tools/mcp"
)

// styles are the ways in which servers write what the protocol wants on a line
// of its own; each gets a message and writes it to standard output.
var styles = map[string]func(m string){
	"plain":     func(m string) { fmt.Println(m) },
	"banner":    func(m string) { fmt.Println("Server listening …\n喜鹊\n\x1b[32mready\x1b[0m\n" + m) },
	"after":     func(m string) { fmt.Println(m + "\ndone\n\n") },
	"half line": func(m string) { fmt.Println("Loading... {50%} " + m) },
	"progress":  func(m string) { fmt.Println("10%\r20%\r" + m) },
	"same line": func(m string) { fmt.Println(m + " ok") },
	"BOM":       func(m string) { fmt.Print("\ufeff" + m + "\r\n") },
	"CRLF":      func(m string) { fmt.Print("\r\n\r\n" + m + "\r\n\r\n") },
	"blank":     func(m string) { fmt.Print("\n  \n\t\n " + m + " \n") },
	"NUL":       func(m string) { fmt.Print(m + "\x00\n") },
	"no UTF-8":  func(m string) { fmt.Println("\xff\xfe\xb2\xe2\n" + m) },
	"JSON log": func(m string) {
		fmt.Println(`{"level":"info","msg":"call","id":1}` + "\n" + `{"jsonrpc":"1.0","id":1}` + "\n" + m)
	},
	"no messages": func(m string) {
		fmt.Println("null\n42\n\"text\"\n[]\n{}\n[1,[2]]\ntrue\n" + `{"jsonrpc":"2.0"}` + "\n" + m)
	},
	"bad id": func(m string) {
		fmt.Println(`{"jsonrpc":"2.0","id":{"a":1},"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":999,"result":{}}` + "\n" + m)
	},
	"cut message": func(m string) { fmt.Println(m[:len(m)/2] + "\n" + m) },
	"log of calls": func(m string) {
		fmt.Println(`<- {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}` + "\n-> " + m + "\n" + m)
	},
	"pretty": func(m string) {
		var b bytes.Buffer
		_ = json.Indent(&b, []byte(m), "", "  ")
		fmt.Println(b.String())
	},
	"brace": func(m string) { fmt.Println("{\n  a: 1,\n}\n{\n" + m) },
	"batch": func(m string) {
		fmt.Println("[" + m + `,{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}]`)
	},
	"two at once": func(m string) {
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + m)
	},
	"framed":      func(m string) { fmt.Printf("Content-Length: %d\r\n\r\n%s", len(m), m) },
	"framed type": func(m string) { fmt.Printf("content-length:%d\r\nContent-Type: application/json\r\n\r\n%s", len(m), m) },
	"like frames": func(m string) { fmt.Println("Content-Length: 900000\n" + m) },
	"HTTP log":    func(m string) { fmt.Println("HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n{\"a\":1}\n" + m) },
	"long line":   func(m string) { fmt.Println(strings.Repeat("x", 17<<20)); fmt.Println(m) },
	"many lines":  func(m string) { fmt.Println(strings.Repeat("noise\n", 3000) + m) },
	"deep":        func(m string) { fmt.Println(strings.Repeat("[", 1<<20) + "\n" + m) },
	"requests": func(m string) {
		for i, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such"} {
			fmt.Printf(`{"jsonrpc":"2.0","id":"r%d","method":%q,"params":{}}`+"\n", i, method)
		}
		fmt.Println(m)
	},
}

// raw is a server of one tool that writes in a style. The tool tells what the
// client's greeting and its answers to requests were.
// It is for kinds that name one.
func raw(kind string) bool {
	style, ok := strings.CutPrefix(kind, "raw ")
	say := styles[style]
	if !ok {
		return false
	}
	answered := map[string]bool{}
	hello := ""
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return true
		}
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ClientInfo json.RawMessage
			}
		}
		if json.Unmarshal(line, &req) != nil || len(req.ID) == 0 {
			continue
		}
		answer := func(result string) { say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)) }
		switch req.Method {
		case "":
			answered[string(req.ID)] = true
		case "initialize":
			hello = string(req.Params.ClientInfo)
			answer(`{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[{"name":"tell","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"either","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`)
		case "tools/call":
			text, _ := json.Marshal(fmt.Sprintf("answers %d, hello %s", len(answered), hello))
			answer(fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", req.ID)
		}
	}
}

func rawServer(style string) mcp.Server {
	return mcp.Server{Name: "r", Command: os.Args[0], Args: []string{"-test.run=^$"}, Env: map[string]chat.Secret{asServer: "raw " + chat.Secret(style)}}
}

// What a server prints beside its messages is passed over and counted; every
// message is heard.
func TestServersThatPrint(t *testing.T) {
	silent := []string{"plain", "BOM", "CRLF", "blank", "NUL", "pretty", "batch", "two at once", "framed", "framed type", "requests"}
	for style := range styles {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			w := start(t, rawServer(style))
			w.has("mcp_r_tell")
			for range 3 {
				if res := w.call("mcp_r_tell", `{}`); !res.OK || !strings.Contains(res.Text, "hello") {
					t.Fatalf("%+v", res)
				}
			}
			st := w.States()[0]
			if !st.Connected || st.Err != "" {
				t.Errorf("%+v", st)
			}
			quiet := strings.Contains("|"+strings.Join(silent, "|")+"|", "|"+style+"|")
			if quiet != (st.Stray == 0) {
				t.Errorf("%d times it is said to have printed", st.Stray)
			}
		})
	}
}

// The greeting names the program's version; a server's requests are answered.
func TestGreetingAndRequests(t *testing.T) {
	w := start(t, rawServer("requests"))
	w.has("mcp_r_tell")
	w.until("all requests are answered", func() bool {
		return strings.Contains(w.call("mcp_r_tell", `{}`).Text, "answers 5,")
	})
	if res := w.call("mcp_r_tell", `{}`); !strings.Contains(res.Text, `"version":"test"`) {
		t.Errorf("the greeting: %s", res.Text)
	}
}

// A tool that runs as a task only is not offered, and said to be left out.
func TestToolsThatNeedTasks(t *testing.T) {
	w := start(t, rawServer("plain"))
	w.has("mcp_r_either")
	if st := w.States()[0]; len(st.Tools) != 2 || !slices.Equal(st.Tasks, []string{"slow"}) {
		t.Errorf("%+v", st)
	}
}

// What is only noise is no server, and does not fill the memory or the log.
func TestOnlyNoise(t *testing.T) {
	got := once(t, t.TempDir(), script("n", `yes "$(printf 'I am no server %.0s' $(seq 400))"`))[0]
	if !strings.Contains(got, "writes to its standard output what are no messages") || !strings.Contains(got, "it wrote: I am no server") || len(got) > 5000 {
		t.Errorf("%q", got)
	}
}

// The words of a server that lets nobody in are shown, over each transport and
// in whatever form they come; the key is not.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		code             int
		kind, body, says string
	}{
		"text":  {403, "text/plain", "your plan ended on 2026-11-01\n", "403 Forbidden: your plan ended on 2026-11-01"},
		"json":  {403, "application/json", `{"error":"insufficient_scope","error_description":"needs repo:read"}`, "403 Forbidden: insufficient_scope; needs repo:read"},
		"rpc":   {403, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"账户已停用"}}`, "403 Forbidden: 账户已停用"},
		"html":  {401, "text/html", "<html><style>p{}</style><body><h1>Sign in</h1>\n<p>first</body></html>", "401 Unauthorized: Sign in first"},
		"none":  {401, "", "", `401 Unauthorized (it wants Bearer realm="x", scope="a b")`},
		"key":   {403, "text/plain", "the key k3y is old", "403 Forbidden: the key *** is old"},
		"large": {403, "text/plain", strings.Repeat("very ", 1<<20), "403 Forbidden: very very"},
	} {
		for _, path := range []string{"/mcp", "/sse"} {
			t.Run(name+path, func(t *testing.T) {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", c.kind)
					if c.body == "" {
						w.Header().Set("WWW-Authenticate", `Bearer realm="x", scope="a b"`)
					}
					w.WriteHeader(c.code)
					_, _ = w.Write([]byte(c.body))
				}))
				defer srv.Close()
				got := once(t, t.TempDir(), mcp.Server{Name: "h", URL: srv.URL + path})[0]
				if !strings.Contains(got, c.says) || len(got) > 3000 || strings.Contains(got, "k3y") {
					t.Errorf("got %q\nwant … %q", got, c.says)
				}
			})
		}
	}
}
