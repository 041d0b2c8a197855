package dispatch

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/channels"
)

// Many chats at once, each in order, none over the rate.
func TestRateAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(channels.Limits{Rate: channels.Rate{PerSecond: 10, Burst: 5, PerChat: time.Second, ChatBurst: 2}})
		d := New(ch, nil)
		var wg sync.WaitGroup
		start := time.Now()
		for c := range 8 {
			wg.Go(func() {
				for i := range 5 {
					out := message(fmt.Sprintf("%d-%d", c, i), fmt.Sprintf("%d %d", c, i))
					out.Addr.Chat = fmt.Sprint(c)
					if err := d.Deliver(t.Context(), out); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		next := map[string]string{}
		for _, s := range ch.visible() {
			c, n, _ := strings.Cut(s.Text, " ")
			if want := next[c]; want != "" && n != want || want == "" && n != "0" {
				t.Errorf("chat %s: %s, want %s", c, n, want)
			}
			next[c] = fmt.Sprint(int(n[0]-'0') + 1)
		}
		if took := time.Since(start); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("took %v of the platform's time", took)
		}
		for i := 5 + 10; i < len(ch.at); i++ { // any second holds at most burst + rate
			if ch.at[i].Sub(ch.at[i-15]) < 900*time.Millisecond {
				t.Errorf("16 calls within %v", ch.at[i].Sub(ch.at[i-15]))
			}
		}
	})
}

func TestRateSettings(t *testing.T) {
	for s, ok := range map[string]bool{"": true, "auto": true, "off": true, "20/s": true, "0.5/s": true, "20": false, "x/s": false, "-1/s": false, "20/m": false, "NaN/s": false} {
		if err := CheckRate(s); (err == nil) != ok {
			t.Errorf("CheckRate(%q) = %v", s, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for setting, want := range map[string]time.Duration{"off": 0, "2/s": 4 * time.Second, "auto": 9 * time.Second} {
			d := New(newFull(channels.Limits{Rate: channels.Rate{PerChat: time.Second}}), &Options{Rate: setting})
			start := time.Now()
			for i := range 10 {
				if err := d.Deliver(t.Context(), message(fmt.Sprint(i), "x")); err != nil {
					t.Fatal(err)
				}
			}
			if got := time.Since(start).Round(time.Second); got != want {
				t.Errorf("%s: %v, want %v", setting, got, want)
			}
		}
	})
}

// A 429 silences its chat for as long as it says and slows the others down.
func TestLearnsFrom429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(channels.Limits{Rate: channels.Rate{PerSecond: 10, Burst: 1}})
		d := New(ch, nil)
		ch.fail("send", limited(7*time.Second))
		start := time.Now()
		if err := d.Deliver(t.Context(), message("a", "x")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 7*time.Second || took > 8*time.Second {
			t.Errorf("waited %v", took)
		}
		if got := d.gov.all.Limit(); got != 5 {
			t.Errorf("rate %v, want half", got)
		}
		for i := range 600 {
			if err := d.Deliver(t.Context(), message(fmt.Sprint(i), "x")); err != nil {
				t.Fatal(err)
			}
		}
		if got := d.gov.all.Limit(); got != 10 {
			t.Errorf("rate %v, want recovered", got)
		}
	})
}

// A 429 that is the whole bot's silences every chat, another's only its own.
func TestGlobal429(t *testing.T) {
	for global, want := range map[bool]time.Duration{true: 7 * time.Second, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			ch := newFull(channels.Limits{Rate: channels.Rate{PerSecond: 10, Burst: 5}})
			d := New(ch, nil)
			err := limited(7 * time.Second)
			err.(*channels.Error).Global = global
			ch.fail("send", err)
			start := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := d.Deliver(t.Context(), message("a", "x")); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			for i := range 4 { // other chats
				wg.Go(func() {
					out := message(fmt.Sprint(i), "y")
					out.Addr.Chat = fmt.Sprint("other", i)
					if err := d.Deliver(t.Context(), out); err != nil {
						t.Error(err)
					}
					if took := time.Since(start).Truncate(time.Second); took != want {
						t.Errorf("global %v: another chat waited %v, want %v", global, took, want)
					}
				})
			}
			wg.Wait()
			if took := time.Since(start); took < 7*time.Second || took > 9*time.Second {
				t.Errorf("global %v: the chat itself waited %v", global, took)
			}
		})
	}
}
