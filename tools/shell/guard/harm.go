package guard

import (
	"path"
	"slices"
	"strings"
)

// harmful is the built-in deny list, by the name of the program.
func harmful(base string, args []word) error {
	switch {
	case base == "rm":
		return removes(args)
	case base == "srm" || base == "wipe" && len(args) > 0:
		return denied("%s deletes for good", base)
	case base == "mkfs" || strings.HasPrefix(base, "mkfs.") || slices.Contains(formatters(), base):
		return denied("%s formats or repartitions a disk", base)
	case strings.EqualFold(base, "format") || strings.EqualFold(base, "format.com"):
		if slices.ContainsFunc(args, func(a word) bool { return drive(a.text) }) {
			return denied("format formats a disk")
		}
	case strings.EqualFold(strings.TrimSuffix(base, ".exe"), "diskpart"):
		return denied("diskpart repartitions a disk")
	case base == "dd":
		return copies(args)
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff", "telinit"}, base):
		return denied("%s stops the machine", base)
	case base == "init" && has(args, "0", "1", "6", "s", "S"):
		return denied("init %s stops the machine", args[0].text)
	case (base == "systemctl" || base == "loginctl") && has(args, "poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "emergency", "rescue"):
		return denied("%s stops the machine", base)
	}
	return devices(base, args)
}

func formatters() []string {
	return []string{"mke2fs", "mkswap", "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "wipefs", "blkdiscard", "newfs", "diskutil"}
}

// drive says whether a text names a drive as Windows does: c: or C:\.
func drive(s string) bool {
	s = strings.TrimRight(s, `\/`)
	return len(s) == 2 && s[1] == ':'
}

// removes judges rm. Its long options may be shortened.
func removes(args []word) error {
	for _, a := range args {
		long := strings.TrimPrefix(a.text, "--")
		switch {
		case !a.known && a.bare:
			return denied("what rm deletes is only decided when it runs; write the names out, or put the variable in quotes")
		case a.bare && strings.Contains(a.text, "{"):
			return denied("rm with {…} can be anything; write the names out")
		case a.text == "--":
			return nil
		case strings.HasPrefix(a.text, "--"):
			if long != "" && strings.HasPrefix("recursive", long) || long == "no-preserve-root" {
				return recursive()
			}
		case strings.HasPrefix(a.text, "-") && strings.ContainsAny(a.text, "rR"):
			return recursive()
		}
	}
	return nil
}

func recursive() error {
	return denied("it deletes recursively; delete files by name with rm or delete_file, and empty folders with rmdir")
}

// copies judges dd.
func copies(args []word) error {
	for _, a := range args {
		if to, ok := strings.CutPrefix(a.text, "of="); ok && isDevice(path.Clean(to)) {
			return denied("dd writes to the device %s", to)
		}
	}
	return nil
}

// disks are the beginnings of the names of devices that hold data.
func disks() []string {
	return []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "md", "dm-", "mapper", "disk", "mem", "kmem", "port", "nbd", "sr", "rdisk"}
}

// devices refuses every command that names a disk, or memory: there is nothing
// to be had from them but harm.
func devices(base string, args []word) error {
	for _, a := range args {
		text := a.text
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(value, "/") {
			text = value
		}
		p := path.Clean(text)
		if !inside(p, "/dev") || p == "/dev" || !isDevice(p) {
			continue
		}
		name := strings.TrimPrefix(p, "/dev/")
		if slices.ContainsFunc(disks(), func(d string) bool { return strings.HasPrefix(name, d) }) {
			return denied("%s on the device %s", base, p)
		}
	}
	return nil
}
