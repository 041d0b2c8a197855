package desk

import (
	"testing"
	"time"
)

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0: {"a moment", "一会儿"}, 45 * time.Second: {"45 seconds", "45秒"}, 90 * time.Second: {"1 minute 30 seconds", "1分钟30秒"},
		12*time.Minute + 5*time.Second: {"12 minutes", "12分钟"}, time.Hour: {"1 hour", "1小时"}, 2*time.Hour + 5*time.Minute + time.Second: {"2 hours 5 minutes", "2小时5分钟"},
		25*time.Hour + time.Minute: {"1 day 1 hour", "1天1小时"}, 48 * time.Hour: {"2 days", "2天"},
	} {
		if en, zh := (Who{}).length(d), (Who{Lang: "zh"}).length(d); en != want[0] || zh != want[1] {
			t.Errorf("%s: %q, %q, want %q", d, en, zh, want)
		}
	}
}
