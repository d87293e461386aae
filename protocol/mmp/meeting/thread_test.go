package meeting

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/protocol/mmp"
)

// move makes one message of a thread.
func move(id, action, from, to, reply, payload string) Message {
	m := Message{ID: id, Action: action, From: from, Timestamp: "t", ProtocolVersion: "1.0.0", Payload: mmp.Raw(payload)}
	if to != "" {
		m.To = &to
	}
	if reply != "" {
		m.InReplyTo = &reply
	}
	return m
}

func TestDiscussion(t *testing.T) {
	at := vectorTime
	d, err := OpenDiscussion(move("m1", ActionPropose, "ada", "", "", `{"title":"Tea","text":"Now?"}`), at)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(m Message) {
		t.Helper()
		if d, err = d.Apply(m, at); err != nil {
			t.Fatal(err)
		}
	}
	apply(move("m2", ActionSupport, "bob", "", "m1", `{"reason":"yes"}`))
	before := d
	apply(move("m3", ActionOppose, "bob", "", "m1", `{"reason":"no"}`))
	if s, o := before.Count(); s != 1 || o != 0 {
		t.Error("the old state changed")
	}
	apply(move("m4", ActionSynthesize, "bob", "", "m1", `{"summary":"hm","outcome":"later"}`))
	if s, o := d.Count(); s != 0 || o != 1 || d.State != ThreadOpen || len(d.Drafts) != 1 {
		t.Errorf("%+v; want s to be 0, o to be 1, d.State to be %v, len(d.Drafts) to be 1", d, ThreadOpen)
	}
	apply(move("m5", ActionSynthesize, "ada", "", "m1", `{"summary":"tea","outcome":"now"}`))
	if d.State != ThreadClosed || d.Result.Outcome != "now" {
		t.Errorf("%+v; want d.State to be %v, d.Result.Outcome to be \"now\"", d, ThreadClosed)
	}
	if _, err := d.Apply(move("m6", ActionSupport, "eve", "", "m1", `{}`), at); !errors.Is(err, ErrIllegalMove) {
		t.Error(err)
	}
}

func TestDiscussionIllegalMoves(t *testing.T) {
	open, err := OpenDiscussion(move("m1", ActionPropose, "ada", "", "", `{"title":"Tea"}`), vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m   Message
		at  time.Time
		err string
	}{
		"other thread": {move("m2", ActionSupport, "bob", "", "m9", `{}`), vectorTime, "it answers another message"},
		"no thread":    {move("m2", ActionSupport, "bob", "", "", `{}`), vectorTime, "it answers another message"},
		"other action": {move("m2", ActionAgree, "bob", "", "m1", `{}`), vectorTime, "agree is no part of a discussion"},
		"too late":     {move("m2", ActionSupport, "bob", "", "m1", `{}`), vectorTime.Add(DiscussionIdle + 1), "the discussion is expired"},
	} {
		got, err := open.Apply(c.m, c.at)
		if !errors.Is(err, ErrIllegalMove) || err.Error() != "illegal move: "+c.err || len(got.Stances) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open.Apply(move("m2", ActionOppose, "bob", "", "m1", `{"reason":7}`), vectorTime); refusal(err) != "400 invalid_field Invalid field: payload.reason" {
		t.Error(err)
	}
	for _, m := range []Message{move("m1", ActionSupport, "a", "", "", `{}`), move("m1", ActionPropose, "a", "", "", `{}`), move("m1", ActionPropose, "a", "", "", `{"title":1}`)} {
		if _, err := OpenDiscussion(m, vectorTime); err == nil {
			t.Errorf("%+v opened", m)
		}
	}
}

func TestNegotiation(t *testing.T) {
	n, err := OpenNegotiation(move("m1", ActionOffer, "ada", "bob", "", `{"terms":{"b":1,"a":{"d":2,"c":3}}}`), vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	if n.TermsHash != mmp.HashOf(`{"a":{"c":3,"d":2},"b":1}`).Prefixed() {
		t.Error("the hash depends on the order of members")
	}
	first := n
	if n, err = n.Apply(move("m2", ActionCounter, "bob", "ada", "m1", `{"terms":{"a":1}}`), vectorTime); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Message{
		"own terms":      move("m3", ActionAgree, "bob", "ada", "m2", `{"terms_hash":"`+n.TermsHash+`"}`),
		"old terms":      move("m3", ActionAgree, "ada", "bob", "m1", `{"terms_hash":"`+first.TermsHash+`"}`),
		"old hash":       move("m3", ActionAgree, "ada", "bob", "m2", `{"terms_hash":"`+first.TermsHash+`"}`),
		"no hash":        move("m3", ActionAgree, "ada", "bob", "m2", `{}`),
		"out of turn":    move("m3", ActionCounter, "bob", "ada", "m2", `{"terms":{}}`),
		"stranger":       move("m3", ActionAgree, "eve", "bob", "m2", `{"terms_hash":"`+n.TermsHash+`"}`),
		"stranger's end": move("m3", ActionWithdraw, "eve", "bob", "m2", `{}`),
		"no terms":       move("m3", ActionCounter, "ada", "bob", "m2", `{}`),
		"other thread":   move("m3", ActionCounter, "ada", "bob", "m9", `{"terms":{}}`),
		"second offer":   move("m3", ActionOffer, "ada", "bob", "m2", `{"terms":{}}`),
	} {
		after, err := n.Apply(m, vectorTime)
		if !errors.Is(err, ErrIllegalMove) {
			t.Errorf("%s: %v; want ErrIllegalMove", name, err)
		}
		if d := cmp.Diff(n, after); d != "" {
			t.Errorf("%s changed the state: %s", name, d)
		}
	}
	if _, err := n.Apply(move("m3", ActionCounter, "ada", "bob", "m2", `{"terms":"x"}`), vectorTime); refusal(err) != "400 invalid_field Invalid field: payload.terms" {
		t.Error(err)
	}
	agreed, err := n.Apply(move("m3", ActionAgree, "ada", "bob", "m2", `{"terms_hash":"`+mmp.HashOf(`{"a":1}`).Bare()+`"}`), vectorTime)
	if err != nil || agreed.State != ThreadAgreed || n.State != ThreadOpen {
		t.Errorf("%+v %v; want no error, agreed.State to be %v, n.State to be %v", agreed, err, ThreadAgreed, ThreadOpen)
	}
	withdrawn, err := n.Apply(move("m3", ActionWithdraw, "bob", "ada", "m1", `{"reason":"tired"}`), vectorTime)
	if err != nil || withdrawn.State != ThreadWithdrawn || withdrawn.Reason != "tired" {
		t.Errorf("%+v %v; want no error, withdrawn.State to be %v, withdrawn.Reason to be \"tired\"", withdrawn, err, ThreadWithdrawn)
	}
	if late := n.ExpireIdle(vectorTime.Add(NegotiationIdle + 1)); late.State != ThreadExpired {
		t.Error("not expired")
	}
	for _, m := range []Message{
		move("m1", ActionOffer, "ada", "", "", `{"terms":{}}`), move("m1", ActionOffer, "ada", "ada", "", `{"terms":{}}`),
		move("m1", ActionOffer, "ada", "bob", "", `{}`), move("m1", ActionCounter, "ada", "bob", "", `{"terms":{}}`),
	} {
		if _, err := OpenNegotiation(m, vectorTime); !errors.Is(err, ErrIllegalMove) {
			t.Errorf("%+v: %v; want ErrIllegalMove", m, err)
		}
	}
}

// TestNoMovesMakeAnAgreementNobodyMeant plays random moves, legal and not: an
// agreement always covers the last terms, spoken by the other party, and nothing
// follows an end.
func TestNoMovesMakeAnAgreementNobodyMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, err := OpenNegotiation(move("m0", ActionOffer, "ada", "bob", "", `{"terms":{"n":0}}`), vectorTime)
		if err != nil {
			t.Fatal(err)
		}
		now, lastTerms, lastBy := vectorTime, `{"n":0}`, "ada"
		for i := 1; i <= rapid.IntRange(1, 15).Draw(t, "moves"); i++ {
			now = now.Add(time.Duration(rapid.IntRange(0, 13).Draw(t, "hours")) * time.Hour)
			terms := fmt.Sprintf(`{"n":%d}`, i)
			hash := rapid.SampledFrom([]string{n.TermsHash, mmp.HashOf(terms).Bare(), ""}).Draw(t, "hash")
			from := rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(t, "from")
			action := rapid.SampledFrom([]string{ActionCounter, ActionCounter, ActionAgree, ActionWithdraw, ActionOffer}).Draw(t, "action")
			reply := rapid.SampledFrom([]string{n.TermsID, "m0", "m1", "zz"}).Draw(t, "reply")
			next, err := n.Apply(move(fmt.Sprintf("m%d", i), action, from, "", reply, `{"terms":`+terms+`,"terms_hash":"`+hash+`"}`), now)
			if err != nil {
				if n.State != ThreadOpen && cmp.Diff(n, next) != "" {
					t.Fatal("an ended negotiation changed")
				}
				n = next
				continue
			}
			if n.State != ThreadOpen || from == "eve" {
				t.Fatalf("%s by %s went through in state %s", action, from, n.State)
			}
			if next.State == ThreadAgreed && (from == lastBy || string(next.Terms) != lastTerms || !mmp.SameHash(hash, mmp.HashOf(lastTerms).Bare()) || reply != n.TermsID) {
				t.Fatalf("agreed to what was not meant: %+v", next)
			}
			if action == ActionCounter {
				if from == lastBy {
					t.Fatal("spoke twice")
				}
				lastTerms, lastBy = terms, from
			}
			n = next
		}
		if _, err := json.Marshal(n); err != nil {
			t.Fatal(err)
		}
	})
}
