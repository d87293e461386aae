//go:build !unix

package wsconn_test

import (
	"testing"
	"time"
)

func cpuTime() time.Duration { return 0 }

func crowd(b *testing.B, _ string, _ int) func() {
	b.Skip("needs a second process with many sockets, which this benchmark only starts on Unix")
	return nil
}
