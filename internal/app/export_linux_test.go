package app

// For tests.
var (
	LimitBelow  = limitBelow
	Ours        = ours
	JudgeMemory = judgeMemory
)
