package sandbox

// SetABI makes a sandbox behave as on a kernel with an older Landlock.
func (s *Sandbox) SetABI(abi int) { s.abi = abi }
