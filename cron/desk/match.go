package desk

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	"magpie/cron"
	"magpie/cron/grammar"
	"magpie/internal/near"
)

// fold makes equal what people take for the same: case, width, script, marks.
func fold(text string) string {
	text = strings.Map(func(r rune) rune {
		if r > '\uff00' && r < '\uff5f' {
			r -= '\uff00' - ' '
		}
		switch {
		case r == '\'' || r == '’':
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, line(text, 300))
	return strings.Join(strings.Fields(grammar.Simplify(text)), " ")
}

// The words that people put around the name of a reminder.
var (
	before = []string{"the", "a", "an", "my", "our", "that", "this", "to", "about", "for", "of", "reminder", "那个", "这个", "我的", "提醒我", "关于", "叫"}
	behind = []string{"reminder", "reminders", "alarm", "timer", "task", "one", "thing", "的那个", "那个", "那条", "的提醒", "提醒", "的闹钟", "闹钟", "的任务", "的事"}
)

// bare takes them away, unless nothing else is left.
func bare(text string) string {
	text = fold(text)
	for cut := true; cut; {
		cut = false
		for _, words := range before {
			if rest, ok := strings.CutPrefix(text, words); ok && apart(words, rest) {
				text, cut = strings.TrimSpace(rest), true
			}
		}
		for _, words := range behind {
			if rest, ok := strings.CutSuffix(text, words); ok && apart(words, rest) {
				text, cut = strings.TrimSpace(rest), true
			}
		}
	}
	return text
}

func apart(word, rest string) bool {
	return rest != "" && (word[0] >= 0x80 || strings.HasPrefix(rest, " ") || strings.HasSuffix(rest, " "))
}

// match returns the jobs whose name or text is meant by words: those that fit
// best, and nothing that fits less well.
func match(words string, jobs []cron.Job) []cron.Job {
	want := bare(words)
	if want == "" {
		return nil
	}
	for level := range 4 {
		var found []cron.Job
		for _, j := range jobs {
			if j.ID == strings.ToLower(strings.TrimSpace(words)) {
				return []cron.Job{j}
			}
			if fits(level, want, bare(j.Name)) || fits(level, want, bare(j.Message)) {
				found = append(found, j)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

func fits(level int, want, have string) bool {
	switch {
	case have == "":
		return false
	case level == 0:
		return want == have
	case level == 1:
		return strings.Contains(" "+have+" ", " "+want+" ") || !ascii(want) && strings.Contains(have, want)
	case level == 2: // every word, or the beginning of one, in any order
		words := slices.DeleteFunc(strings.Fields(want), func(word string) bool { return oneOf(word, "the|my|a|to") })
		return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool {
			return !strings.Contains(" "+have, " "+word) && (ascii(word) || !strings.Contains(have, word))
		})
	}
	return slip(want, have)
}

// slip says whether every word is there but for one letter; Chinese has no
// words, so every part of the same length counts.
func slip(want, have string) bool {
	if ascii(want) && ascii(have) {
		return !slices.ContainsFunc(strings.Fields(want), func(word string) bool {
			return !slices.ContainsFunc(strings.Fields(have), func(h string) bool {
				return h == word || len(word) >= 4 && len(word) <= 40 && len(h) <= 40 && near.Distance(word, h) <= 1
			})
		})
	}
	a, b := []rune(want), []rune(have)
	if len(a) < 3 || len(a) > 40 {
		return false
	}
	for i := 0; i+len(a) <= len(b); i++ {
		if near.Distance(want, string(b[i:i+len(a)])) <= 1 {
			return true
		}
	}
	return false
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// nearest returns up to three jobs that are the least unlike the words.
func nearest(words string, jobs []cron.Job) []cron.Job {
	unlike := func(j cron.Job) int {
		return near.Distance(bare(line(words, 60)), bare(line(j.Name+" "+j.Message, 60)))
	}
	jobs = slices.Clone(jobs)
	sort.SliceStable(jobs, func(a, b int) bool { return unlike(jobs[a]) < unlike(jobs[b]) })
	return jobs[:min(3, len(jobs))]
}
