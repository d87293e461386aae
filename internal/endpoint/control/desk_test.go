package control

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	wire "parley.internal/protocol/kenny"
)

// asking is a switch of ann's, who wants to be asked.
func asking(t *testing.T) *Switch {
	t.Helper()
	sw := NewSwitch(t.TempDir(), quiet())
	if _, err := sw.Set(Asking, ann); err != nil {
		t.Fatal(err)
	}
	return sw
}

// consent asks on a goroutine of its own and gives the answer.
func consent(t *testing.T, sw *Switch, args string) <-chan error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- sw.Consent(t.Context(), "call-1", "shell_exec", []byte(args)) }()
	synctest.Wait()
	return answer
}

func TestOnlyChangesAreAsked(t *testing.T) {
	sw := asking(t)
	for class, want := range map[wire.Class]bool{wire.ReadOnly: false, wire.Sensitive: false, wire.Mutating: true} {
		if sw.Asks(class) != want || sw.Allows(class) != nil {
			t.Errorf("%s: asks %v, allows %v", class, sw.Asks(class), sw.Allows(class))
		}
	}
	for _, mode := range []Mode{On, Off, Private} {
		if _, err := sw.Set(mode, admin); err != nil || sw.Asks(wire.Mutating) {
			t.Errorf("%s: %v; want no error, not sw.Asks(wire.Mutating)", mode, err)
		}
	}
}

func TestWhoMaySayYes(t *testing.T) {
	script := Caller{ID: "0", Admin: true, Script: true}
	for _, c := range []struct {
		name string
		who  Caller
		yes  bool
		want error
		hear string // what the hub hears; "" is a yes
	}{
		{"who wants to be asked says yes", ann, true, nil, ""},
		{"an administrator says yes", admin, true, nil, ""},
		{"another plain user cannot", bob, true, ErrNotAsked, "nobody"},
		{"but can say no", bob, false, nil, "said no"},
		{"a script of the endpoint can do neither", script, true, ErrScript, "nobody"},
		{"not even no", script, false, ErrScript, "nobody"},
	} {
		synctest.Test(t, func(t *testing.T) {
			sw := asking(t)
			answer := consent(t, sw, `{"script":"true"}`)
			if err := sw.Answer(1, c.yes, c.who); !errors.Is(err, c.want) {
				t.Errorf("%s: %v; want %v", c.name, err, c.want)
			}
			err := <-answer // fake time passes where nobody answered
			if (err == nil) != (c.hear == "") || err != nil && !strings.Contains(err.Error(), c.hear) {
				t.Errorf("%s: the hub hears %v", c.name, err)
			}
			if e, ok := errors.AsType[*wire.Error](err); err != nil && (!ok || e.Code != wire.CodeDisabled) {
				t.Errorf("%s: %v is not the protocol's", c.name, err)
			}
			if again := sw.Answer(1, true, admin); !errors.Is(again, ErrNoQuestion) {
				t.Errorf("%s: a second answer: %v", c.name, again)
			}
		})
	}
}

func TestAQuestionRunsOutAndIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sw := asking(t)
		began := time.Now()
		if err := <-consent(t, sw, `{}`); err == nil || time.Since(began) != wire.AskTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		first, second := consent(t, sw, `{}`), consent(t, sw, `{}`)
		sw.Withdraw() // the hub is gone: a yes would run something nobody waits for
		if err := sw.Answer(2, true, ann); !errors.Is(err, ErrNoQuestion) {
			t.Errorf("a yes after the end: %v", err)
		}
		for _, answer := range []<-chan error{first, second} {
			if err := <-answer; err == nil {
				t.Error("a withdrawn question became a yes")
			}
		}
		if left := sw.Waiting(admin); len(left) != 0 {
			t.Errorf("%d questions stay", len(left))
		}
	})
}

func TestArgumentsAreShownToWhoMaySayYesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sw := asking(t)
		answer := consent(t, sw, `{"script":"secret"}`)
		for _, who := range []Caller{ann, admin} {
			if list := sw.Waiting(who); len(list) != 1 || string(list[0].Arguments) != `{"script":"secret"}` || list[0].N != 1 {
				t.Errorf("%s sees %+v", who.Name, list)
			}
		}
		if list := sw.Waiting(bob); len(list) != 1 || list[0].Arguments != nil || list[0].Tool != "shell_exec" {
			t.Errorf("bob sees %+v", list)
		}
		if err := sw.Answer(1, false, bob); err != nil || <-answer == nil {
			t.Error(err)
		}
	})
}

func TestSoManyQuestionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sw := asking(t)
		var answers []<-chan error
		for range maxOpen {
			answers = append(answers, consent(t, sw, `{}`))
		}
		if err := <-consent(t, sw, `{}`); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("one more: %v", err)
		}
		sw.Withdraw()
		for _, a := range answers {
			<-a
		}
	})
}
