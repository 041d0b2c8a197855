package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
)

const (
	// leastMemory is the limit below which the program has no room to work;
	// busyMemory is what a hundred busy chats need. See docs/bench.md.
	leastMemory = 32 << 20
	busyMemory  = 64 << 20
	// trialMemory is what a doctor needs beside the bot that starts two programs
	// more to try the sandbox.
	trialMemory = 48 << 20
	// leastChosen is the GOMEMLIMIT below which the runtime does little else than
	// collect garbage.
	leastChosen = 16 << 20
)

// FitMemory tells the runtime of the container's memory limit, so that it
// collects garbage rather than be killed; GOMEMLIMIT in the environment wins.
// warning, if not "", says that one of them does not fit.
func FitMemory() (warning string) {
	fit(ours)
	if _, err := examineMemory(context.Background()); err != nil {
		return explained(err).Error()
	}
	return ""
}

// FitBeside is FitMemory for a command beside the bot: most of the limit is the
// bot's, and it must not be killed for the command. cramped are the findings of
// a limit that has no room for both; nil: there is.
func FitBeside() (cramped []Finding) {
	fit(func(limit int64) int64 { return limit / 4 })
	if limit, ok := memoryLimit(); !ok || limit >= leastMemory {
		return nil
	}
	return []Finding{exam{"memory", examineMemory}.finding(context.Background()), {
		Check: "everything else", Skipped: true,
		Text: "not looked at: it could take so much memory that the bot is killed; bot config check looks at the configuration alone",
	}}
}

// fit gives the runtime its share of the limit.
func fit(share func(limit int64) int64) {
	if limit, ok := memoryLimit(); ok && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(share(limit))
	}
}

// ours is what the runtime may take of a limit. The rest is for what it does not
// count (the kernel's buffers, pages of the program file) and for other
// programs under the limit: the health check is one every few seconds. It is
// little where little is given, or the runtime would do nothing but collect.
func ours(limit int64) int64 {
	return limit - min(8<<20+max(0, limit-64<<20)/4, 64<<20, limit/2)
}

// readyBytes is how much memory the conversations may take that are kept ready.
// To read one again costs more than to keep it: the store loads whole blocks.
func readyBytes() int {
	room := debug.SetMemoryLimit(-1) // what GOMEMLIMIT says, or a share of the limit
	if limit, ok := memoryLimit(); ok {
		room = min(room, limit)
	}
	return int(min(room/4, 32<<20))
}

// judgeMemory looks at a limit, 0 for none, and at what GOMEMLIMIT has told the
// runtime, as written and in bytes, "" for nothing.
func judgeMemory(limit int64, chosen string, heap int64) (string, error) {
	text := "no limit is set"
	if limit > 0 {
		text = "the memory limit is " + bytesText(uint64(limit))
	}
	if chosen != "" {
		chosen = "GOMEMLIMIT=" + chosen
	}
	const todo = "leave GOMEMLIMIT out, so that the bot fits itself into the container's limit, or write it with a unit and below that limit, such as GOMEMLIMIT=48MiB"
	switch {
	case 0 < limit && limit < leastMemory:
		return "", &advised{
			errors.New(text + ", which is too small"),
			fmt.Sprintf("give it at least %s, %s for a hundred busy chats, and more for commands and a browser (mem_limit in Compose, MemoryMax in systemd)",
				bytesText(leastMemory), bytesText(busyMemory)),
		}
	case chosen != "" && heap < leastChosen:
		return "", &advised{fmt.Errorf("%s is too small: the bot would do little else than collect garbage", chosen), todo}
	case chosen != "" && limit > 0 && heap >= limit && heap < math.MaxInt64: // which is off
		return "", &advised{fmt.Errorf("%s, and %s is not below it: the bot is killed before it collects garbage", text, chosen), todo}
	case chosen != "":
		text += "; " + chosen
	}
	return text, nil
}

// examineMemory looks at the limit of the container, or the service.
func examineMemory(context.Context) (string, error) {
	limit, ok := memoryLimit()
	if !ok {
		limit = 0
	}
	return judgeMemory(limit, os.Getenv("GOMEMLIMIT"), debug.SetMemoryLimit(-1))
}
