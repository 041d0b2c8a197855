package kv_test

import (
	"testing"

	"magpie/internal/kv"
	"magpie/internal/kv/kvtest"
)

func TestMemory(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.Table { return &kv.Memory{} })
}
