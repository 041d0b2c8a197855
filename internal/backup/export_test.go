package backup

// CommitUntil is Commit with something to be called before each change.
func (s *Stage) CommitUntil(step func() error) (aside string, err error) {
	s.p.step = step
	return s.Commit()
}
