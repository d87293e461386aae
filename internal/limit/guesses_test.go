package limit_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/limit"
)

var logins = limit.GuessLimits{PerMinute: 60, Failures: 5, Window: 5 * time.Minute, Lock: 5 * time.Minute, Networks: 100}

func begin(t *testing.T, g *limit.Guesses, address string) *limit.Attempt {
	t.Helper()
	try, err := g.Attempt(address)
	if err != nil {
		t.Fatalf("%s may not even try: %v", address, err)
	}
	return try
}

func refused(t *testing.T, g *limit.Guesses, address string) limit.Error {
	t.Helper()
	_, err := g.Attempt(address)
	why, ok := errors.AsType[*limit.Error](err)
	if !ok || !errors.Is(err, limit.ErrTooMany) || why.RetryAfter <= 0 {
		t.Fatalf("%s is looked at, want a refusal that says how long to wait: %v", address, err)
	}
	return *why
}

func TestFiveFailuresLockAnAddressForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGuesses(logins)
		for i := range 5 {
			if locked := begin(t, g, "10.0.0.1").Failed(); locked != (i == 4) {
				t.Errorf("failure %d locked: %v", i+1, locked)
			}
		}
		<-time.After(time.Minute)
		if why := refused(t, g, "10.0.0.1"); !why.Locked || why.RetryAfter != 4*time.Minute {
			t.Errorf("a minute into the lock the guesser is told %+v", why)
		}
		begin(t, g, "10.0.0.2").End() // a neighbour
		<-time.After(4 * time.Minute)
		begin(t, g, "10.0.0.1").End()
	})
}

// A shared address, such as an office's, had sixty logins a minute between all of
// its people, and the sixty-first locked everybody out.
func TestSuccessNeverLocksAnybodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGuesses(logins)
		for range 1000 {
			begin(t, g, "10.0.0.1").Succeeded()
		}
		begin(t, g, "10.0.0.1").Succeeded()
	})
}

func TestASuccessForgivesFailuresAndTimeForgetsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGuesses(logins)
		for range 4 {
			begin(t, g, "a").Failed()
			begin(t, g, "b").Failed()
		}
		begin(t, g, "a").Succeeded()
		if begin(t, g, "a").Failed() {
			t.Error("failures before a success count")
		}
		<-time.After(5 * time.Minute)
		if begin(t, g, "b").Failed() {
			t.Error("failures of long ago count")
		}
	})
}

// Whoever has one good credential could forgive themselves after every fourth guess.
func TestGuessesBetweenSuccessesAreBoundedPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGuesses(logins)
		for i := range 60 {
			if i%4 == 0 {
				begin(t, g, "10.0.0.1").Succeeded()
			}
			begin(t, g, "10.0.0.1").Failed()
			<-time.After(time.Second / 2)
		}
		why := refused(t, g, "10.0.0.1")
		if why.Locked || why.RetryAfter != 30*time.Second {
			t.Fatalf("the sixty-first guess of a minute: %+v, want 30 s of waiting", why)
		}
		<-time.After(why.RetryAfter)
		begin(t, g, "10.0.0.1").End()
	})
}

func TestGuessingManyAtOnceGainsNothing(t *testing.T) {
	g := limit.NewGuesses(logins)
	var running []*limit.Attempt
	for range 60 {
		running = append(running, begin(t, g, "10.0.0.1"))
	}
	refused(t, g, "10.0.0.1")
	running[0].End() // the database was away: nobody's fault
	running[0].End()
	running[1].Succeeded()
	begin(t, g, "10.0.0.1")
	begin(t, g, "10.0.0.1")
	refused(t, g, "10.0.0.1")
}

func TestAnIPv6NetworkGuessesAsOne(t *testing.T) {
	g := limit.NewGuesses(logins)
	for i := range 5 {
		begin(t, g, fmt.Sprintf("[2001:db8::%x]:443", i+1)).Failed()
	}
	refused(t, g, "2001:db8::ffff")
	begin(t, g, "2001:db8:0:1::1")
	for range 5 {
		begin(t, g, "::ffff:10.0.0.1").Failed()
	}
	refused(t, g, "10.0.0.1:5000")
}

func TestTheTableOfGuessersIsBounded(t *testing.T) {
	limits := logins
	limits.Networks = 3
	g := limit.NewGuesses(limits)
	for range 5 {
		begin(t, g, "locked").Failed()
	}
	for i := range 2 {
		begin(t, g, fmt.Sprint("x", i))
	}
	refused(t, g, "locked")
	for i := range 3 {
		begin(t, g, fmt.Sprint("y", i))
	}
	begin(t, g, "locked") // the longest silent is forgotten
}
