package app

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

const (
	// leastMemory is the limit below which the program has no room to work;
	// busyMemory is what a hundred busy chats need. See docs/bench.md.
	leastMemory = 32 << 20
	busyMemory  = 48 << 20
)

// FitMemory tells the runtime of the container's memory limit, so that it
// collects garbage rather than be killed; GOMEMLIMIT in the environment wins.
// warning, if not "", says that the limit is too small.
func FitMemory() (warning string) {
	limit, ok := memoryLimit()
	if !ok {
		return ""
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(ours(limit))
	}
	if _, err := judgeMemory(limit); err != nil {
		return explained(err).Error()
	}
	return ""
}

// ours is what the runtime may take of a limit. The rest is for what it does not
// count (the kernel's buffers, pages of the program file) and for other
// programs under the limit: the health check is one every few seconds.
func ours(limit int64) int64 {
	return limit - min(max(limit/4, 8<<20), 64<<20, limit/2)
}

func judgeMemory(limit int64) (string, error) {
	text := "the memory limit is " + bytesText(uint64(limit))
	if limit < leastMemory {
		return "", &advised{
			errors.New(text + ", which is too small"),
			fmt.Sprintf("give the container at least %s, %s for a hundred busy chats, and more for commands and a browser (mem_limit in Compose)",
				bytesText(leastMemory), bytesText(busyMemory)),
		}
	}
	return text, nil
}

// examineMemory looks at the limit of the container, or the service.
func examineMemory() (string, error) {
	limit, ok := memoryLimit()
	if !ok {
		return "no limit is set", nil
	}
	return judgeMemory(limit)
}
