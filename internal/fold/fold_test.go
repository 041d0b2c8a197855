package fold_test

import (
	"testing"

	"magpie/internal/fold"
)

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "Cafe_1": "Cafe_1", "café": "cafe", "cafe\u0301": "cafe", "ÀÉÎÕÜ ñ ç ş": "AEIOU n c s", "Việt Nam": "Viet Nam", "Ώρα": "Ωρα",
		"ＡＢＣ１２": "ABC12", "ﾊﾟﾝ": "パン", "が": "が", "か\u3099": "が", "пой": "пой", "हिन्दी": "हिन्दी", "台北": "台北", "臺北": "臺北", "한글": "한글",
		"\u1112\u1161\u11ab": "한", "😀": "😀", "bad \xff": "bad \uFFFD",
	} {
		if got := fold.Plain(s); got != want {
			t.Errorf("%+q: got %+q, want %+q", s, got, want)
		}
	}
}

func TestSame(t *testing.T) {
	for _, pair := range [][2]string{{"café", "cafe\u0301"}, {"한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"}, {"が", "か\u3099"}} {
		if fold.Same(pair[0]) != fold.Same(pair[1]) {
			t.Errorf("%+q and %+q differ", pair[0], pair[1])
		}
	}
	if fold.Same("café") == fold.Same("cafe") || fold.Same("Ａ") == fold.Same("A") {
		t.Error("what looks different is the same")
	}
}
