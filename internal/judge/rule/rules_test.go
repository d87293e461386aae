package rule_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge/rule"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "rule.") }

// house is a hub's people, inbox and rules.
type house struct {
	t      *testing.T
	db     *store.DB
	people *identity.Directory
	rules  *rule.Rules
	inbox  *approval.Inbox
	owner  identity.Actor // by owner.token
	bus    *bus.Local
}

func newHouse(t *testing.T, db *store.DB) *house {
	t.Helper()
	b := bus.NewLocal()
	t.Cleanup(func() { _ = b.Close() })
	people, err := identity.Open(t.Context(), db, b, identity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = people.Close() })
	h := &house{t: t, db: db, bus: b, people: people, rules: &rule.Rules{DB: db, People: people, Trail: trailtest.Watch(nil)}}
	if h.inbox, err = approval.Open(context.Background(), db, b, approval.Options{Rules: h.rules}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.inbox.Close() })
	first, err := people.Bootstrap(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	h.owner = h.enter(first.Secret)
	return h
}

func (h *house) enter(secret string) identity.Actor {
	h.t.Helper()
	who, err := h.people.Authenticate(h.t.Context(), secret)
	if err != nil {
		h.t.Fatal(err)
	}
	return who
}

func (h *house) token(by identity.Actor, scopes ...string) identity.Actor {
	h.t.Helper()
	out, err := h.people.CreateToken(h.t.Context(), by, identity.TokenRequest{Name: "script", Scopes: scopes})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.enter(out.Secret)
}

// page logs somebody in by a link of the hub.
func (h *house) page(by identity.Actor) identity.Actor {
	h.t.Helper()
	link, err := h.people.CreateLink(h.t.Context(), by, identity.LinkRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	login, err := h.people.RedeemLink(h.t.Context(), link.Secret, "browser", "")
	if err != nil {
		h.t.Fatal(err)
	}
	return login.Actor
}

func (h *house) made(who identity.Actor, uses int) rule.Rule {
	h.t.Helper()
	r := ruleFor("git status …")
	r.Uses = uses
	r, err := h.rules.Make(h.t.Context(), who, r)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// question is what an agent of somebody's asks, in a task of their board.
func question(of identity.Actor) approval.Request {
	r := shell("git status -s").Request
	r.Principal, r.RequestedBy, r.Task, r.Asker, r.Policy.Screen = of.Person.ID, "agent:parley", "task", approval.AskerOf(of), true
	return r
}

func (h *house) answered(r approval.Request) bool {
	h.t.Helper()
	_, byRule := h.inbox.AnswerByRule(h.t.Context(), r)
	return byRule
}

func TestARuleAnswersAndCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		made := h.made(page, 2)
		for i := range 3 {
			if got := h.answered(question(page)); got != (i < 2) {
				t.Errorf("question %d of a rule for two: answered %v", i+1, got)
			}
		}
		list, err := h.rules.List(t.Context(), page)
		if err != nil || len(list) != 1 || list[0].Used != 2 || list[0].UsedAt.IsZero() || list[0].ID != made.ID {
			t.Errorf("the rule afterwards: %+v %v; want two uses, and when", list, err)
		}
		asked, err := h.inbox.List(t.Context(), approval.Filter{States: []approval.State{approval.StateApproved}})
		if err != nil || len(asked) != 2 || asked[0].Outcome.By != "rule:"+made.ID || asked[0].Outcome.Reason != made.Words() {
			t.Errorf("the inbox keeps %+v %v; want two questions, answered by the rule in its words", asked, err)
		}
	})
}

// Two tasks at once had the last use of a rule.
func TestTheLastUseIsHadOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		h.made(page, 3)
		var yes atomic.Int32
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if h.answered(question(page)) {
					yes.Add(1)
				}
			})
		}
		all.Wait()
		if yes.Load() != 3 {
			t.Errorf("a rule for three answered %d of twelve questions at once", yes.Load())
		}
	})
}

// Who makes rules: a person in person, and nobody for them.
func TestOnlyAPersonInPersonMakesARule(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		program := h.token(h.owner, "*")
		page := h.page(h.owner)
		for name, who := range map[string]identity.Actor{
			"a program's token": program, "a page that a program logged in": h.page(program), "a token that a program made": h.token(program, "approval"),
			"an agent": page.ForAgent("parley", identity.InTask, "task"), "an MCP client": page.OverMCP("client"), "the hub": identity.Hub(), "nobody": {},
		} {
			if _, err := h.rules.Make(t.Context(), who, ruleFor("git status")); !errors.Is(err, rule.ErrForbidden) {
				t.Errorf("%s makes a rule: %v", name, err)
			}
		}
		for name, who := range map[string]identity.Actor{"a page in person": page, "the owner at the hub's machine": h.owner} {
			if _, err := h.rules.Make(t.Context(), who, ruleFor("git status")); err != nil {
				t.Errorf("%s makes none: %v", name, err)
			}
		}
	})
}

// A rule answers for its own person's agents, and nobody else's questions.
func TestARuleIsForItsOwnPersonAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		h.made(page, 20)
		bob := page
		bob.Person = identity.Principal{Kind: identity.KindPerson, ID: "bob", Name: "bob"}
		others := question(bob)
		if h.answered(others) {
			t.Error("an admin's rule answers a question of bob's agent")
		}
		mixed := question(page)
		mixed.Asker = approval.AskerOf(bob)
		if h.answered(mixed) {
			t.Error("a rule answers what somebody else started")
		}
	})
}

// What a rule never answers, whatever it names.
func TestARuleGivesNobodyMoreThanItsMakerCouldApprove(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		h.made(page, 100)
		far := &approval.Right{Scope: identity.FleetUnattended}
		for name, change := range map[string]func(*approval.Request){
			"after words of strangers":     func(r *approval.Request) { r.Taint = &approval.Taint{By: "web"} },
			"two people must agree":        func(r *approval.Request) { r.Quorum = 2 },
			"somebody else must agree":     func(r *approval.Request) { r.Policy.NotAsker = true },
			"a scope that its maker lacks": func(r *approval.Request) { r.Policy.Scope = identity.FleetUnattended },
			"a right that its maker lacks": func(r *approval.Request) { r.Policy.Right = far },
			"a model over MCP wants it":    func(r *approval.Request) { r.Asker.Via.Where = identity.AtMCP },
			"the judge wants a person":     func(r *approval.Request) { r.Scene = nil },
			"a question of another sort":   func(r *approval.Request) { r.Kind = approval.KindBudget },
			"a folder outside, not named": func(r *approval.Request) {
				r.Scene = &approval.Scene{Agent: "parley", Folder: ".", Read: []string{"/etc"}}
			},
			"a host that the rule names not": func(r *approval.Request) {
				r.Scene = &approval.Scene{Agent: "parley", Folder: ".", Hosts: []string{"evil.org"}}
			},
		} {
			r := question(page)
			change(&r)
			if h.answered(r) || h.inbox.Ruled(t.Context(), r) {
				t.Errorf("%s: the rule answers", name)
			}
		}
		if !h.answered(question(page)) {
			t.Error("the rule does not answer what it is for")
		}
	})
}

// The program that asks is not spared by a rule that was made with its own token.
func TestWhoAsksIsNotAnsweredByARuleOfTheirOwnToken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		h.made(h.owner, 20) // by owner.token
		r := question(h.owner)
		r.Policy.Screen = false
		if h.answered(r) {
			t.Error("owner.token asked, and its own rule said yes")
		}
	})
}

// Revoked, over, or its maker's right gone: from the next question on a person is asked.
func TestARuleEndsAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		mallory := page
		mallory.Person, mallory.Scopes = identity.Principal{Kind: identity.KindPerson, ID: "mallory"}, identity.Expand("*")
		made := h.made(page, 20)
		if err := h.rules.Revoke(t.Context(), mallory, made.ID); !errors.Is(err, rule.ErrNotFound) {
			t.Errorf("somebody else takes it back: %v", err)
		}
		if !h.answered(question(page)) {
			t.Error("it does not answer before it is taken back")
		}
		if err := h.rules.Revoke(t.Context(), page, made.ID); err != nil || h.answered(question(page)) {
			t.Errorf("it answers after it was taken back (%v)", err)
		}
		late := h.made(page, 20)
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE standing_rules SET until_at = ? WHERE id = ?`, store.Micros(time.Now().Add(-time.Second)), late.ID)
			return err
		})
		if err != nil || h.answered(question(page)) {
			t.Errorf("it answers after its end (%v)", err)
		}
	})
}

// Somebody lost the right to answer, and what their rules spared was still spared.
func TestWhoLosesARightLosesWhatTheirRulesSpared(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		h.made(page, 20)
		asker := question(page)
		h.rules.People = lost{h.people}
		if h.answered(asker) {
			t.Error("a rule answers for somebody who may not answer any more")
		}
		h.rules.People = ended{h.people}
		if h.answered(asker) {
			t.Error("a rule answers for a credential that has ended")
		}
		h.rules.People = h.people
		if !h.answered(asker) {
			t.Error("it does not answer while the right stands")
		}
	})
}

type lost struct{ *identity.Directory }

func (l lost) Standing(_ context.Context, a identity.Actor) (identity.Actor, error) {
	return a.Narrow(identity.Expand(identity.TaskSubmit)), nil
}

type ended struct{ *identity.Directory }

func (ended) Standing(context.Context, identity.Actor) (identity.Actor, error) {
	return identity.Actor{}, identity.ErrRefused
}

// A yes and its rule are made together: who may not answer makes no rule of the question.
func TestAYesAndItsRuleAreOneTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		asked, err := h.inbox.Ask(t.Context(), question(page))
		if err != nil {
			t.Fatal(err)
		}
		answer := func(who identity.Actor) error {
			r, err := rule.From(asked.Item())
			if err != nil {
				t.Fatal(err)
			}
			_, write, err := h.rules.Prepare(t.Context(), who, r)
			if err != nil {
				return err
			}
			_, err = h.inbox.Answer(t.Context(), who, asked.ID(), approval.Answer{Approved: true, Also: write})
			return err
		}
		program := h.token(h.owner, "*")
		if err := answer(program); !errors.Is(err, rule.ErrForbidden) {
			t.Errorf("a program's yes made a rule: %v", err)
		}
		if now, err := h.inbox.Get(t.Context(), page, asked.ID()); err != nil || now.Outcome.State != approval.StatePending {
			t.Errorf("the yes of a rule that was not made counts: %+v %v", now.Outcome, err)
		}
		if err := answer(page); err != nil || !h.answered(question(page)) {
			t.Errorf("the person's yes made no rule: %v", err)
		}
	})
}

// What no rule may say.
func TestABadRuleIsRefused(t *testing.T) {
	h := newHouse(t, storetest.SQLite(t))
	page := h.page(h.owner)
	for name, change := range map[string]func(*rule.Rule){
		"no agent":             func(r *rule.Rule) { r.Agent = "" },
		"no tool":              func(r *rule.Rule) { r.Tool = "" },
		"any command":          func(r *rule.Rule) { r.Arguments = command("…") },
		"no command":           func(r *rule.Rule) { r.Arguments = nil },
		"any arguments of sh":  func(r *rule.Rule) { r.Arguments = command("/bin/sh …") },
		"any arguments of env": func(r *rule.Rule) { r.Arguments = command("env A=b ...") },
		"an end that is over":  func(r *rule.Rule) { r.Until = time.Now().Add(-time.Minute) },
		"an end too far":       func(r *rule.Rule) { r.Until = time.Now().AddDate(2, 0, 0) },
		"too many uses":        func(r *rule.Rule) { r.Uses = 100_000 },
		"uses below none":      func(r *rule.Rule) { r.Uses = -1 },
		"a pattern of hosts":   func(r *rule.Rule) { r.Hosts = []string{"*.example.org"} },
		"a relative folder":    func(r *rule.Rule) { r.Read = []string{"etc"} },
		"a folder with ..":     func(r *rule.Rule) { r.Write = []string{"/tmp/../etc"} },
		"its folder twice":     func(r *rule.Rule) { r.Arguments["cwd"] = []byte(`"src"`) },
	} {
		r := ruleFor("git status")
		change(&r)
		if _, err := h.rules.Make(t.Context(), page, r); !errors.Is(err, rule.ErrInvalid) {
			t.Errorf("%s: %v, want that no such rule can be made", name, err)
		}
	}
}

// Each day's answers of rules are told once, to the person whose rules they were.
func TestADailyNoteTellsWhatRulesAnswered(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		made := h.made(page, 20)
		for range 3 {
			h.answered(question(page))
		}
		yesterday := time.Now().UTC().Truncate(24 * time.Hour).Add(-time.Hour)
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE approvals SET resolved_at = ?`, store.Micros(yesterday))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // two hubs, or one that started anew
			in, err := approval.Open(t.Context(), db, h.bus, approval.Options{Rules: h.rules})
			if err != nil {
				t.Fatal(err)
			}
			for ev, err := range in.Watch(t.Context(), page.Person.ID) {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Kind == approval.Added {
					break
				}
			}
			_ = in.Close()
		}
		notes, err := h.inbox.List(t.Context(), approval.Filter{Principal: page.Person.ID, Kind: approval.KindNote})
		if err != nil || len(notes) != 1 || notes[0].Reason != "3 × "+made.Words() || !strings.Contains(notes[0].Title, "answered 3 questions") {
			t.Errorf("the notes are %+v (%v); want one, with three answers of the rule", notes, err)
		}
	})
}
