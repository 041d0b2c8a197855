// Package system holds the tools about the machine's time: current_time and
// sleep. It starts no goroutine.
package system
