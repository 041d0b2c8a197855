package feishu_test

import (
	"bufio"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	fake "magpie/internal/fakes/feishu"
	"magpie/internal/fakes/nodetest"
)

// TestNodeRegistration lets the platform's Node.js SDK make an app by a code
// that somebody scans.
func TestNodeRegistration(t *testing.T) {
	node, modules := nodetest.Find(t, "@larksuiteoapi/node-sdk")
	s := fake.New(nil)
	web := httptest.NewTLSServer(s.Handler()) // the SDK knows no other
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	cmd := exec.CommandContext(bounded(t), node, "testdata/register.cjs", strings.TrimPrefix(web.URL, "https://"))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_TLS_REJECT_UNAUTHORIZED=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.HasPrefix(lines.Text(), "link https://open.feishu.cn/page/launcher?user_code=") {
			s.Confirm("feishu")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "app " + s.AppID() + " " + s.Secret() + " ou_owner"; len(said) != 2 || said[1] != want {
		t.Errorf("the SDK said %q, want %q", said, want)
	}
}
