package when

import (
	"errors"
	"strings"
	"testing"
)

// inTraditional writes a text as it is written in Taiwan and Hong Kong. The
// table is the test's own, so that it misses nothing that the package's does.
func inTraditional(text string) string { return toTraditional.Replace(text) }

var toTraditional = strings.NewReplacer(
	"点", "點", "两", "兩", "个", "個", "后", "後", "钟", "鐘", "号", "號", "周", "週", "礼", "禮", "时", "時", "间", "間", "开", "開",
	"会", "會", "记", "記", "过", "過", "从", "從", "约", "約", "这", "這", "当", "當", "儿", "兒", "里", "裡", "闹", "鬧", "设", "設",
	"请", "請", "帮", "幫", "麻烦", "麻煩", "别", "別", "谢", "謝", "给", "給", "东", "東", "国", "國", "纽", "紐", "伦", "倫", "农历", "農曆",
	"双", "雙", "续", "續", "连", "連", "总", "總", "药", "藥", "报", "報", "吗", "嗎", "离", "離", "楼", "樓", "线", "線", "岁", "歲",
	"条", "條", "块", "塊", "员", "員", "厅", "廳", "门", "門", "于", "於", "飞", "飛", "来", "來", "与", "與", "坚", "堅", "办", "辦", "书", "書",
)

// sameInTraditional demands that a text means the same in traditional characters.
func sameInTraditional(t *testing.T, text string) {
	t.Helper()
	now, zone := testNow(t)
	said := inTraditional(text)
	if said == text {
		return
	}
	for name, read := range map[string]reader{"Parse": Parse, "Find": Find} {
		p, err := read(text, now, zone)
		q, err2 := read(said, now, zone)
		if a, b := short(p, err), short(q, err2); a != b || inTraditional(p.Rest) != q.Rest {
			t.Errorf("%s(%q)\n got %s %q\nwant %s %q", name, said, b, q.Rest, a, p.Rest)
		}
		asked, ok := errors.AsType[*Ambiguous](err2)
		if ok && asked.Question.Chinese == "" {
			t.Errorf("%s(%q): no question", name, said)
		}
	}
}

func TestTraditionalInSentence(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range [][3]string{
		{"明早七點叫我起床", "2026-11-24 07:00", "起床"},
		{"兩個小時後提醒我開會", "2026-11-23 12:30", "開會"},
		{"兩個半鐘頭後提醒我", "2026-11-23 13:00", ""},
		{"明天下午三點開會提醒我", "2026-11-24 15:00", "開會"},
		{"每週一上午九點提醒我交報告", "cron 0 9 * * 1", "交報告"},
		{"下個禮拜三晚上八點半提醒我給媽媽打電話", "2026-12-02 20:30", "給媽媽打電話"},
		{"這個月三十號提醒我交房租", "2026-11-30 09:00", "交房租"},
		{"請在明天夜裡十一點提醒我，謝謝", "2026-11-24 23:00", ""},
		{"明天開始每天早上八點提醒我", "rule FREQ=DAILY;BYHOUR=8;BYMINUTE=0", ""},
		{"每天早上九點，除了週日，提醒我", "cron 0 9 * * 1-6", ""},
		{"農曆八月十五提醒我", "2027-09-15 09:00", ""},
		{"陰歷八月十五提醒我", "2027-09-15 09:00", ""},
		{"舊金山時間明天早上九點提醒我", "? 2026-11-24 09:00 America/Los_Angeles | 2026-11-23 09:00 America/Los_Angeles", ""},
		{"首爾時間明天早上九點提醒我", "2026-11-24 09:00 Asia/Seoul", ""},
		{"堅持兩週每天早上九點提醒我", "rule FREQ=DAILY;UNTIL=20261207T103000;BYHOUR=9;BYMINUTE=0", ""},
		{"麻煩於明天下午三點提醒我開會，好嗎", "2026-11-24 15:00", "開會"},
		{"設個鬧鐘，每週二與週四早上六點", "cron 0 6 * * 2,4", ""},
		{"三十分鍾後提醒我飛機起飛", "2026-11-23 11:00", "飛機起飛"},
		{"提醒我買三點水飲料", "none", ""},
		{"提醒我去三號樓", "none", ""},
	} {
		p, err := Find(row[0], now, zone)
		if got := short(p, err); got != row[1] || p.Rest != row[2] {
			t.Errorf("Find(%q)\n got %s %q\nwant %s %q", row[0], got, p.Rest, row[1], row[2])
		}
	}
}
