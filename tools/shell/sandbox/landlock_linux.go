package sandbox

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The versions of Landlock at which something was added (kernel
// Documentation/userspace-api/landlock.rst, 6.18, read 2025-11).
const (
	abiRefer    = 2 // moving between folders
	abiTruncate = 3
	abiNetwork  = 4 // binding and connecting of TCP
	abiIoctl    = 5
	abiScope    = 6 // signals and abstract sockets
	abiUnix     = 9
	abiKnown    = 11
)

// landlockABI is the version this kernel offers, or why it offers none.
func landlockABI() (int, error) {
	v, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return 0, errors.New("the kernel does not have it")
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, errors.New("it is switched off at the kernel's boot")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return 0, errors.New("it is forbidden here, for example by a container's seccomp profile")
	case err != nil:
		return 0, fmt.Errorf("ask the kernel for it: %w", err)
	}
	if v >= abiScope {
		// The first kernels with scopes did not let threads of one process
		// signal each other; with the second erratum they do.
		if fixed, err := ll.LandlockGetErrata(); err != nil || fixed&2 == 0 {
			return abiScope - 1, nil
		}
	}
	return min(v, abiKnown), nil
}

// restrictPaths takes from this process, for good, all of the file system but
// what the job names. It asks for exactly what the kernel's version has:
// asking for more would fail, and the library's best effort may come to nothing.
func restrictPaths(j job) error {
	handled := landlock.AccessFSSet(1<<13 - 1)
	for abi, right := range map[int]landlock.AccessFSSet{
		abiRefer: ll.AccessFSRefer, abiTruncate: ll.AccessFSTruncate, abiIoctl: ll.AccessFSIoctlDev, abiUnix: ll.AccessFSResolveUnix,
	} {
		if j.ABI >= abi {
			handled |= right
		}
	}
	wall := []any{handled}
	if j.ABI >= abiScope {
		wall = append(wall, landlock.ScopedSet(ll.ScopeSignal|ll.ScopeAbstractUnixSocket))
	}
	// Connections of a guarded command are made by the warden.
	if j.ABI >= abiNetwork && j.Network != Open {
		closed := landlock.AccessNetSet(ll.AccessNetConnectTCP)
		if !j.Listen {
			closed |= ll.AccessNetBindTCP
		}
		wall = append(wall, closed)
	}
	cfg, err := landlock.NewConfig(wall...)
	if err != nil {
		return fmt.Errorf("prepare landlock: %w", err)
	}
	if err := cfg.Restrict(pathRules(j, handled)...); err != nil {
		return fmt.Errorf("restrict paths: %w", err)
	}
	return nil
}

// pathRules allows to read and run the programs, and all in the writable
// folders but devices and, where it is known, sockets of others.
func pathRules(j job, handled landlock.AccessFSSet) []landlock.Rule {
	const (
		file = ll.AccessFSExecute | ll.AccessFSReadFile
		dir  = file | ll.AccessFSReadDir
		all  = 1<<15 - 1 - ll.AccessFSMakeChar - ll.AccessFSMakeBlock
		use  = ll.AccessFSReadFile | ll.AccessFSWriteFile
	)
	rules := []landlock.Rule{
		landlock.PathAccess(use, "/dev/null", "/dev/zero", "/dev/full").IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSReadFile, "/dev/random", "/dev/urandom").IgnoreIfMissing(),
	}
	for _, p := range j.Read {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		rights := landlock.AccessFSSet(file)
		if info.IsDir() {
			rights = dir
		}
		rules = append(rules, landlock.PathAccess(rights, p).IgnoreIfMissing())
	}
	for _, p := range j.Write {
		rights := handled & all
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			rights &= file | use | ll.AccessFSTruncate | ll.AccessFSIoctlDev
		}
		rules = append(rules, landlock.PathAccess(rights, p))
	}
	return rules
}
