package identity_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/identity"
)

func TestFiveFailuresLockAnAddressForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := identity.NewThrottle(identity.LoginLimits)
		for i := range 5 {
			if err := throttle.Attempt("10.0.0.1"); err != nil {
				t.Fatal(err)
			}
			if locked := throttle.Failed("10.0.0.1"); locked != (i == 4) {
				t.Errorf("failure %d locked: %v", i+1, locked)
			}
		}
		<-time.After(time.Minute)
		var refusal *identity.ThrottledError
		if err := throttle.Attempt("10.0.0.1"); !errors.As(err, &refusal) || !refusal.Locked || refusal.RetryAfter != 4*time.Minute || !errors.Is(err, identity.ErrThrottled) {
			t.Errorf("locked: %v", err)
		}
		if err := throttle.Attempt("10.0.0.2"); err != nil {
			t.Errorf("a neighbour: %v", err)
		}
		<-time.After(4 * time.Minute)
		if err := throttle.Attempt("10.0.0.1"); err != nil {
			t.Errorf("after the lock: %v", err)
		}
	})
}

func TestASuccessClearsFailuresAndTimeForgetsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := identity.NewThrottle(identity.LoginLimits)
		for range 4 {
			throttle.Failed("a")
			throttle.Failed("b")
		}
		throttle.Succeeded("a")
		<-time.After(5 * time.Minute)
		if throttle.Failed("a") || throttle.Failed("b") {
			t.Error("old failures count")
		}
	})
}

func TestSixtyAttemptsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := identity.NewThrottle(identity.LoginLimits)
		for range 60 {
			if err := throttle.Attempt("::1"); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Second / 2)
		}
		var refusal *identity.ThrottledError
		if err := throttle.Attempt("::1"); !errors.As(err, &refusal) || refusal.Locked || refusal.RetryAfter != 30*time.Second {
			t.Fatalf("the sixty-first: %v", err)
		}
		<-time.After(refusal.RetryAfter)
		if err := throttle.Attempt("::1"); err != nil {
			t.Errorf("after the time it named: %v", err)
		}
	})
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	throttle := identity.NewThrottle(identity.LoginLimits)
	for i := range 5 {
		throttle.Failed(fmt.Sprintf("[2001:db8::%x]:443", i+1))
	}
	if err := throttle.Attempt("2001:db8::ffff"); !errors.Is(err, identity.ErrThrottled) {
		t.Errorf("same /64: %v", err)
	}
	if err := throttle.Attempt("2001:db8:0:1::1"); err != nil {
		t.Errorf("another /64: %v", err)
	}
	for range 5 {
		throttle.Failed("::ffff:10.0.0.1")
	}
	if err := throttle.Attempt("10.0.0.1:5000"); !errors.Is(err, identity.ErrThrottled) {
		t.Errorf("the same IPv4 address: %v", err)
	}
}

func TestTheThrottleTableIsBounded(t *testing.T) {
	limits := identity.LoginLimits
	limits.Addresses = 3
	throttle := identity.NewThrottle(limits)
	for range 5 {
		throttle.Failed("locked")
	}
	for i := range 2 {
		_ = throttle.Attempt(fmt.Sprint("x", i))
	}
	if err := throttle.Attempt("locked"); !errors.Is(err, identity.ErrThrottled) {
		t.Errorf("still known: %v", err)
	}
	for i := range 3 {
		_ = throttle.Attempt(fmt.Sprint("y", i))
	}
	if err := throttle.Attempt("locked"); err != nil {
		t.Errorf("the longest silent is forgotten: %v", err)
	}
}
