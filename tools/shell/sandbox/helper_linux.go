package sandbox

import (
	"fmt"
	"os"
	"runtime"
)

// How a helper process knows what it is: by the name it was started under and
// a variable. Neither alone makes one of a program that was started for
// something else.
const (
	helperName     = "magpie-sandbox"
	helperVariable = "MAGPIE_SANDBOX_HELPER"
	wardenRole     = "warden"
	confineRole    = "confine"
)

// Helper does what a helper process has to do and returns true when this
// process is one; main then ends at once. It must be called before anything
// else in main, also in a test's TestMain, by every program that uses New.
func Helper() bool {
	if len(os.Args) == 0 || os.Args[0] != helperName {
		return false
	}
	// Some of what is set belongs to a thread, and is inherited from the one
	// that starts the next process.
	runtime.LockOSThread()
	switch os.Getenv(helperVariable) {
	case wardenRole:
		guardCommand()
	case confineRole:
		confine()
	default:
		fmt.Fprintln(os.Stderr, helperName+" is started by the bot, not by hand")
		os.Exit(2)
	}
	return true
}
