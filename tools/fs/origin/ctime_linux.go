package origin

import "syscall"

func changed(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
