package limit_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley.internal/internal/limit"
)

func TestWhatCountsAsOneCaller(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:1000": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "[::ffff:192.0.2.1]:1": "192.0.2.1",
		"2001:db8::1": "2001:db8::/64", "[2001:db8::2]:1": "2001:db8::/64", "2001:db8:0:1::1": "2001:db8:0:1::/64", "fe80::1%eth0": "fe80::/64",
		"::1": "::1", "[::1]:80": "::1", "unix": "unix", "": "",
	} {
		if got := limit.Network(address); got != want {
			t.Errorf("Network(%q) = %q, want %q", address, got, want)
		}
	}
	for address, want := range map[string]bool{"127.0.0.1": true, "127.8.8.8:1": true, "::1": true, "::ffff:127.0.0.1": true, "192.0.2.1": false, "localhost": false} {
		if got := limit.Loopback(address); got != want {
			t.Errorf("Loopback(%q) = %v", address, got)
		}
	}
}

func FuzzNetwork(f *testing.F) {
	for _, a := range []string{"192.0.2.1", "[2001:db8::1]:80", "::ffff:1.2.3.4", "fe80::1%eth0", "nonsense", ""} {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, address string) {
		name := limit.Network(address)
		if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().Is4() && name != ip.Unmap().String() {
			t.Errorf("%q is counted as %q", address, name)
		}
	})
}

func TestAWindowLetsSoManyThroughAndSaysHowLongToWait(t *testing.T) {
	w, now := limit.Window{Most: 2}, time.Unix(1000, 0)
	for i, want := range []bool{true, true, false} {
		ok, wait := w.Allow("a", now.Add(time.Duration(i)*time.Second))
		if ok != want || !ok && wait != 58*time.Second {
			t.Errorf("event %d: %v, wait %v", i+1, ok, wait)
		}
	}
	if ok, _ := w.Allow("b", now); !ok {
		t.Error("somebody else is refused")
	}
	if w.Wait("b", now) != 0 || w.Wait("a", now.Add(30*time.Second)) != 30*time.Second {
		t.Error("Wait says something else than Take")
	}
	w.Add("b", now)
	if w.Wait("b", now) == 0 {
		t.Error("what was added does not count")
	}
	if ok, _ := w.Allow("a", now.Add(time.Minute)); !ok {
		t.Error("a minute later it is still refused")
	}
	for range 100 {
		if ok, _ := w.Allow("", now); !ok {
			t.Fatal("no name is refused")
		}
	}
	if ok, _ := w.AllowN("c", 3, now.Add(time.Minute)); ok {
		t.Error("more at once than there is")
	}
}

func TestACrowdIsCountedPerNetworkAndInAll(t *testing.T) {
	c := limit.NewCrowd(limit.Share{PerNetwork: 2, Total: 4})
	enter := func(address string) func() {
		t.Helper()
		leave, err := c.Enter(address, false)
		if err != nil {
			t.Fatalf("%s is refused: %v", address, err)
		}
		return leave
	}
	full := func(address string, everybody bool) {
		t.Helper()
		_, err := c.Enter(address, false)
		if why, ok := errors.AsType[*limit.Error](err); !ok || why.Everybody != everybody || why.RetryAfter <= 0 {
			t.Errorf("%s: %v, want a refusal (of everybody: %v)", address, err, everybody)
		}
	}
	first := enter("192.0.2.1:1000")
	enter("[::ffff:192.0.2.1]:1001")
	full("192.0.2.1:1002", false)
	enter("[2001:db8::1]:1")
	six := enter("[2001:db8::2]:1")
	full("[2001:db8:0:1::1]:1", true)
	six()
	six()
	enter("[2001:db8::3]:1")
	first()
	full("[2001:db8::4]:1", false)
	enter("192.0.2.1:1003")
	if c.Len() != 4 {
		t.Errorf("%d are in, want 4", c.Len())
	}
}

func TestStrangersElsewhereKeepNoLocalToolOut(t *testing.T) {
	c := limit.NewCrowd(limit.Share{PerNetwork: 1, Total: 3, Local: 2})
	for i := range 3 {
		if _, err := c.Enter(fmt.Sprintf("192.0.2.%d", i), false); err != nil {
			t.Fatal(err)
		}
	}
	leave, err := c.Enter("127.0.0.1", true)
	if err != nil {
		t.Fatalf("the first local caller is refused: %v", err)
	}
	if _, err := c.Enter("127.0.0.1", true); err != nil {
		t.Fatalf("the second local caller is refused: %v", err)
	}
	if _, err := c.Enter("127.0.0.1", true); err == nil {
		t.Error("local callers are not bounded at all")
	}
	if _, err := c.Enter("127.0.0.1", false); err == nil {
		t.Error("what a proxy forwards counts as local")
	}
	leave()
	if _, err := c.Enter("127.0.0.1", true); err != nil {
		t.Errorf("nobody takes the place that became free: %v", err)
	}
}
