package identity_test

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"parley.internal/internal/identity"
)

// A person named "*" or "a*" read everybody's conversations, because names were
// matched as patterns; one named "user" had the owner's.
func TestANameIsNoPatternAndNobodyElses(t *testing.T) {
	for _, name := range []string{
		"", " a", "a ", "a  b", "a\nb", "a\x00b", "a:b", "x/y", `x\y`, "a,b", "*", "a*", "a?", "[ab]", "{a}", "a%", "a|b", "<b>", `"a"`, "$a", "#a",
		"user", "User", "USER", "owner", "hub", "admin", "system", "root", "everyone",
		"al\u200bice", "alice\u202e", "\ufeffalice", "a\u00adlice", "ali\ufe0fce", "a\u3164b", "a\u00a0b", "a\u2028b", "e\u0301ve", "\U000e0041lice",
		"\xff", strings.Repeat("a", 65), "🦀",
	} {
		if err := identity.CheckName(name); !errors.Is(err, identity.ErrInvalid) {
			t.Errorf("the name %q is accepted: %v", name, err)
		}
	}
	for _, name := range []string{"alice", "Alice B. Cooper", "o'brien", "d’Arc", "jo-anne_2", "ève", "Łukasz", "李雷", "हिन्दी", "bob+work", "a@b.example", "users"} {
		if err := identity.CheckName(name); err != nil {
			t.Errorf("the name %q is refused: %v", name, err)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"alice", "*", "user", "e\u0301", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if identity.CheckName(name) != nil {
			return
		}
		if strings.ContainsAny(name, "*?[]{}\\:/,%\n\x00") || !norm.NFC.IsNormalString(name) || len(name) > 64 || name == "user" {
			t.Errorf("accepted: %q", name)
		}
	})
}

func TestPeopleDifferInMoreThanCase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if _, err := w.AddPerson(t.Context(), w.owner, "alice"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddPerson(t.Context(), w.owner, "Alice"); !errors.Is(err, identity.ErrNameTaken) {
			t.Errorf("somebody looks like alice: %v", err)
		}
		for _, name := range []string{"*", "user"} {
			if _, err := w.AddPerson(t.Context(), w.owner, name); !errors.Is(err, identity.ErrInvalid) {
				t.Errorf("a person named %q: %v", name, err)
			}
			if _, err := w.CreateToken(t.Context(), w.owner, identity.TokenRequest{Principal: name}); !errors.Is(err, identity.ErrInvalid) {
				t.Errorf("a token for a new person named %q: %v", name, err)
			}
			if _, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{Principal: name}); !errors.Is(err, identity.ErrInvalid) {
				t.Errorf("a link for a new person named %q: %v", name, err)
			}
		}
	})
}

// An older hub let people have such names. They keep them, and gain nothing.
func TestPeopleOfAnOlderHubGainNothingByTheirNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"*", "a*", "user"} {
			exec(t, w.db, `INSERT INTO people (id, name, owner, created_at) VALUES (?, ?, 0, 1)`, "id of "+name, name)
			who := w.as(t, w.owner, identity.TokenRequest{Principal: name})
			if who.Sender() == w.owner.Sender() || who.Sender() == "alice" {
				t.Errorf("%q speaks as %q", name, who.Sender())
			}
			person, err := w.BySender(t.Context(), who.Sender())
			if err != nil || person.Name != name {
				t.Errorf("the sender %q is %+v (%v), want %q", who.Sender(), person, err, name)
			}
			if own := (identity.Senders{Names: []string{who.Sender()}}); own.Has("alice") || own.Has("user") || !own.Has(who.Sender()) {
				t.Errorf("as a set of senders %q has others", name)
			}
		}
		if person, err := w.BySender(t.Context(), "user"); err != nil || !person.Owner {
			t.Errorf("the default sender is %+v (%v), want the owner", person, err)
		}
		if _, err := w.BySender(t.Context(), "tg:7"); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("a gateway's sender is a person: %v", err)
		}
	})
}
