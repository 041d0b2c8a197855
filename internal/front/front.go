// Package front knows what stands in front of the console: the address under
// which the world reaches it, the names it may be asked for, and the proxies
// that may say who asks. It starts no goroutine.
package front
