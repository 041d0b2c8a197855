//go:build !linux

package app

// memoryLimit is known on Linux only.
func memoryLimit() (int64, bool) { return 0, false }
