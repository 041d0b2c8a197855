package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"magpie/internal/app"
)

type pair struct{ Name, Value string }

// A configured secret stands in no line of the log, wherever in it somebody put
// it; what holds none is left as it is.
func TestLogHoldsNoSecret(t *testing.T) {
	const secret = "s3cret-of-the-test"
	for name, text := range map[string]bool{"json": false, "text": true} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			var h slog.Handler = slog.NewJSONHandler(&out, nil)
			if text {
				h = slog.NewTextHandler(&out, nil)
			}
			log := slog.New(app.Discreet(h, secret))
			url := "https://h/bot" + secret + "/send?token=" + secret
			log.Info("message "+secret, "text", "x"+secret+"y", "err", fmt.Errorf("get %s: %w", url, errors.New("refused")))
			log.With("with", secret).WithGroup("g").Info("m", "list", []string{secret}, "struct", pair{"a", secret}, "pointer", &pair{"a", secret}, slog.Group("inner", "a", secret))
			log.Info("计数", "n", 5, "err", error(nil), "list", []string{"a"}, "空", "")
			if got := out.String(); strings.Contains(got, secret) || strings.Count(got, "***") != 9 {
				t.Errorf("%s", got)
			}
			if want := `"n":5,"err":null,"list":["a"]`; !text && !strings.Contains(out.String(), want) {
				t.Errorf("want %s in %s", want, out.String())
			}
		})
	}
}
