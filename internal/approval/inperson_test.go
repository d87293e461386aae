package approval_test

import (
	"crypto/ed25519"
	"errors"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// A program that may ask and answer asked with its token, logged a page in by a link,
// minted a second token or paired a device, and said yes with that.
func TestAProgramDoesNotAnswerItselfWhateverItMakes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		program := h.token(h.owner, "*")
		second := h.token(program, "*")
		page := h.page(program)
		others := map[string]identity.Actor{
			"its token": program, "a second token it made": second, "a third, made by the second": h.token(second, "*"),
			"a page by its link": page, "a token made on that page": h.token(page, "*"), "a device it paired": h.device(program),
		}
		for asking, asker := range others {
			req := request()
			req.Principal, req.Asker = h.owner.Person.ID, approval.AskerOf(asker)
			id := ask(t, h.inbox, req).ID()
			for name, who := range others {
				if _, err := h.inbox.Answer(t.Context(), who, id, approval.Answer{Approved: true}); !errors.Is(err, approval.ErrForbidden) {
					t.Errorf("%s asked, and %s answered: %v", asking, name, err)
				}
			}
			// The person does, on a page of the hub's own link, with another token, on the hub's machine.
			humans := map[string]identity.Actor{"the person's page": h.page(h.owner), "another token": h.token(h.owner, "*"), "the hub's own machine": identity.Local(h.person)}
			for name, who := range humans {
				again := req
				again.ID = ""
				if _, err := h.inbox.Answer(t.Context(), who, ask(t, h.inbox, again).ID(), approval.Answer{Approved: true}); err != nil {
					t.Errorf("%s asked, and %s may not answer: %v", asking, name, err)
				}
			}
		}
	})
}

// One person with one page starts a task there and is asked there.
func TestAPersonAtAPageAnswersWhatTheyStartedThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		page := h.page(h.owner)
		req := request()
		req.Principal, req.Asker = h.owner.Person.ID, approval.AskerOf(page)
		if r := answer(t, h.inbox, page, ask(t, h.inbox, req).ID(), approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("the page that started it does not decide: %+v", r)
		}
		// A board both submits and answers with one token: the wire has it so.
		board := h.token(h.owner, "*")
		req.Asker, req.Policy = approval.AskerOf(board), approval.Policy{Screen: true}
		if r := answer(t, h.inbox, board, ask(t, h.inbox, req).ID(), approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("a person's own board does not decide: %+v", r)
		}
	})
}

// not_asker compared tokens: a page, or a second token of the same person, was somebody else.
func TestNotAskerWantsAnotherPerson(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		carol := person("carol")
		req := request()
		req.Principal, req.Asker = h.owner.Person.ID, approval.AskerOf(h.token(h.owner, "*"))
		req.Policy = approval.Policy{NotAsker: true, People: []string{carol.Person.ID}, Screen: true}
		id := ask(t, h.inbox, req).ID()
		for name, who := range map[string]identity.Actor{
			"another token": h.token(h.owner, "*"), "a page by a link": h.page(h.owner), "a device": h.device(h.owner), "the hub's own machine": identity.Local(h.person),
		} {
			if _, err := h.inbox.Answer(t.Context(), who, id, approval.Answer{Approved: true}); !errors.Is(err, approval.ErrForbidden) {
				t.Errorf("%s of the person who asked answers: %v", name, err)
			}
		}
		if r := answer(t, h.inbox, carol, id, approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("another person does not decide: %+v", r)
		}
	})
}

// A model held its person's token and answered over MCP what its person was asked.
func TestNobodyAnswersOverMCP(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		id := ask(t, in, request()).ID()
		model := alice
		model.Where = identity.AtMCP
		if _, err := in.Answer(t.Context(), model, id, approval.Answer{Approved: true}); !errors.Is(err, approval.ErrForbidden) {
			t.Errorf("a model said yes: %v", err)
		}
	})
}

// house is an inbox with real people and credentials.
type house struct {
	t      *testing.T
	inbox  *approval.Inbox
	people *identity.Directory
	person identity.Person
	owner  identity.Actor
}

func newHouse(t *testing.T, db *store.DB) *house {
	t.Helper()
	b := newBus(t)
	people, err := identity.Open(t.Context(), db, b, identity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = people.Close() })
	h := &house{t: t, inbox: open(t, db, b, approval.Options{}), people: people}
	first, err := people.Bootstrap(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	h.owner = h.open(first.Secret)
	if h.person, err = people.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) open(secret string) identity.Actor {
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
	return h.open(out.Secret)
}

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

func (h *house) device(by identity.Actor) identity.Actor {
	h.t.Helper()
	code, err := h.people.CreateToken(h.t.Context(), by, identity.TokenRequest{Pairing: true, Scopes: []string{"*"}})
	if err != nil {
		h.t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := h.people.Pair(h.t.Context(), identity.PairRequest{Secret: code.Secret, PublicKey: public, Name: "phone"})
	if err != nil {
		h.t.Fatal(err)
	}
	return out.Actor
}
