package zone_test

import (
	"strings"
	"testing"

	"magpie/internal/zone"
)

func TestMeant(t *testing.T) {
	t.Parallel()
	for _, row := range []string{
		"Asia/Shanghai Asia/Shangai,Asia/Shanghia,asia/shanghai,ASIA/SHANGHAI,Shanghai,shanghai,Asia/ShangHai,Asia\\Shanghai,Asia / Shanghai,Ａｓｉａ／Ｓｈａｎｇｈａｉ,Aisa/Shanghai,China/Shanghai,Asia Shanghai,Asia-Shanghai,上海,北京,北京市,北京时间,深圳,Beijing,Asia/Beijing,Bejing,UTC+8,utc+08:00,GMT+8,+8,+08:00,东八区,UTC +8,ＵＴＣ＋８,China Standard Time,“北京”",
		"Europe/Berlin Europe/Berln,berlin,Germany,Munich,Europe/Munich,柏林,德国,Asia/Berlin,UTC+1",
		"America/New_York America/NewYork,America/New York,New York,new-york,纽约,UTC-5,America/Newyork,Nwe York,NYC",
		"America/Los_Angeles San Francisco,PST,America/LosAngeles,旧金山,UTC-8",
		"Asia/Hong_Kong hongkong,Hong Kong,香港,Asia/HongKong",
		"Asia/Kolkata Mumbai,India,UTC+5:30,+0530,孟买",
		"Asia/Tokyo tokyo,东京,Asia/Tokio,JST",
		"America/St_Johns UTC-3:30",
	} {
		want, all, _ := strings.Cut(row, " ")
		for said := range strings.SplitSeq(all, ",") {
			if got, _ := zone.Meant(said); got != want {
				t.Errorf("%q: %q, want %q", said, got, want)
			}
		}
	}
	for said, want := range map[string]string{
		"(UTC+08:00) Beijing, Chongqing, Hong Kong, Urumqi": "Asia/Shanghai", "(UTC+08:00) Beijing": "Asia/Shanghai", "(GMT+8) 北京，重庆，香港特别行政区": "Asia/Shanghai", "（UTC+08:00）北京": "Asia/Shanghai",
		"(UTC+01:00) Amsterdam, Berlin, Bern, Rome": "Europe/Amsterdam", "(UTC+09:00) Osaka, Sapporo, Tokyo": "Asia/Tokyo", "(UTC-05:00) Eastern Time": "America/New_York", "(UTC+08:00)": "Asia/Shanghai", "(UTC+08:00) Mars/Olympus": "Asia/Shanghai",
	} {
		if got, _ := zone.Meant(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	for _, nonsense := range []string{"", "Mars/Olympus", "Mars/Base", "UTC+27", "火星", strings.Repeat("a/", 1000), "hunter2 hunter2", "sk-1234567890"} {
		if got, _ := zone.Meant(nonsense); got != "" {
			t.Errorf("%q: %q, want nothing", nonsense, got)
		}
	}
}

// Every zone of the tables is one that Go knows.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"Asia/Shanghai", "UTC", "Europe/Berlin"} {
		if !zone.Known(said) {
			t.Errorf("%s is not known", said)
		}
	}
	if zone.Known("") || zone.Known("Local") || zone.Known("Asia/Beijing") {
		t.Error("what is no zone is known")
	}
	for _, name := range zone.All() {
		if !zone.Known(name) {
			t.Errorf("%s is no zone", name)
		}
	}
}
