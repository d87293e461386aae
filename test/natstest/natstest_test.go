package natstest_test

import (
	"net"
	"strings"
	"testing"

	"parley.internal/test/natstest"
)

func TestANodeCanBeKilledAndRestarted(t *testing.T) {
	for _, n := range natstest.Cluster(t, 3) {
		addr := strings.TrimPrefix(n.URL(), "nats://")
		n.Kill()
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Fatalf("%s still answers", addr)
		}
		n.Restart()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}
