//go:build linux

package growth_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley.internal/test/passkeytest"
)

// This file is the law. It is written from docs/security.md and
// docs/decisions/023-no-growth.md; nothing here asks the hub.

// scopes is what a credential may do; granting only takes away.
type scopes map[string]bool

// everyday is what "*" stands for.
var everyday = []string{
	"task:read", "task:submit", "task:control", "approval:read", "approval:respond", "terminal:read", "terminal:write", "status:read",
	"device:manage", "fleet:read", "fleet:sensitive", "fleet:call", "rooms", "place", "talk", "audit:read", "node:register",
}

// byName is what has to be given by name.
var byName = []string{"admin", "talk:admin", "agents:manage", "place:manage", "fleet:admin", "terminal:create", "task:unattended", "fleet:unattended", "audit:witness"}

// families are the names that stand for several.
var families = map[string][]string{
	"*":                everyday,
	"task":             {"task:read", "task:submit", "task:control"},
	"fleet":            {"fleet:read", "fleet:sensitive", "fleet:call", "fleet:admin"},
	"approval:respond": {"approval:respond", "approval:read"},
	"terminal:write":   {"terminal:write", "terminal:read"},
	"terminal:create":  {"terminal:create", "terminal:write", "terminal:read"},
	"talk:admin":       {"talk:admin", "talk"},
	"place:manage":     {"place:manage", "place"},
	"admin": slices.DeleteFunc(slices.Concat(everyday, byName), func(name string) bool {
		return name == "fleet:unattended" || name == "node:register"
	}),
}

func expand(names ...string) scopes {
	out := scopes{}
	for _, name := range names {
		out[name] = true
		for _, member := range families[name] {
			out[member] = true
		}
	}
	return out
}

func (s scopes) and(other scopes) scopes {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(name string, _ bool) bool { return !other[name] })
	return out
}

func (s scopes) covers(other scopes) bool { return len(other.and(s)) == len(other) }

// person is one of the people of a sequence, or the owner.
type person struct {
	name, id, sender string
	owner            bool
}

// credential is whatever somebody can come with.
type credential struct {
	number int
	kind   string // token, page, device, passkey
	person *person

	id, secret   string
	cookie, csrf string
	passkey      *passkeytest.Device

	scopes scopes
	// machines are those it is limited to; nil is no limit.
	machines []string
	// ends is when; zero is never.
	ends time.Time
	// maker is what it was made with and ends with; nil is the hub.
	maker *credential
	// token is the one a page was opened with: such a page is that token.
	token *credential
	dead  bool

	sockets []*socket
}

func (c *credential) String() string {
	by := "the hub"
	if c.maker != nil {
		by = fmt.Sprintf("%s %d", c.maker.kind, c.maker.number)
	}
	return fmt.Sprintf("%s %d of %s made with %s", c.kind, c.number, c.person.name, by)
}

// GoString is how a drawn one is shown in a failure.
func (c *credential) GoString() string { return c.String() }

// GoString is how a drawn one is shown in a failure.
func (p *person) GoString() string { return p.name }

// may says whether the credential holds a scope.
func (c *credential) may(scope string) bool { return !c.dead && c.scopes[scope] }

// reaches says whether the credential's limits let it near a machine.
func (c *credential) reaches(machine string) bool {
	return c.machines == nil || slices.Contains(c.machines, machine)
}

// line is what things made with the credential end with: pages pass their own maker on.
func (c *credential) line() *credential {
	if c != nil && c.kind == "page" {
		return c.maker
	}
	return c
}

// from says whether the credential is another, or was made with it, however remotely.
func (c *credential) from(other *credential) bool {
	for ; c != nil; c = c.maker {
		if c == other {
			return true
		}
	}
	return false
}

// inPerson says whether somebody acts in person: on a page that no token opened, nor a
// link or a passkey that a token made. owner.token is no script's: it is the hub's own.
func (c *credential) inPerson() bool {
	if c.kind != "page" || c.token != nil {
		return false
	}
	for m := c.maker; m != nil; m = m.maker {
		if m.kind != "passkey" && !m.hubsOwn() {
			return false
		}
	}
	return true
}

// program is the first token in the line of a credential: whatever it made is the same
// program's. Somebody in person, and owner.token, is none.
func (c *credential) program() *credential {
	var first *credential
	if c.kind == "page" {
		c = c.maker
	}
	for ; c != nil; c = c.maker {
		if c.kind != "passkey" && !c.hubsOwn() {
			first = c
		}
	}
	return first
}

// sameProgram says whether two credentials are in one program's hands.
func sameProgram(a, b *credential) bool {
	return a == b && a.kind != "page" || a.program() != nil && a.program() == b.program()
}

// hubsOwn is owner.token.
func (c *credential) hubsOwn() bool { return c.person.owner && c.kind == "token" && c.maker == nil }

// bound is the most that something can be that a credential makes with these scopes.
func bound(maker *credential, of *person, names []string) *credential {
	c := &credential{person: of, maker: maker.line(), scopes: expand(names...), machines: maker.machines}
	most := maker.scopes
	if maker.hubsOwn() {
		most = maps.Clone(most)
		most["fleet:unattended"] = true
	}
	c.scopes = c.scopes.and(most)
	if c.maker != nil {
		c.ends = c.maker.ends
	}
	if limits := limitsIn(names); limits != nil {
		c.machines = slices.DeleteFunc(limits, func(m string) bool { return !maker.reaches(m) })
	}
	return c
}

func limitsIn(names []string) []string {
	var out []string
	for _, name := range names {
		if machine, ok := strings.CutPrefix(name, "machine:"); ok {
			out = append(out, machine)
		}
	}
	return out
}

// outlives says that an end comes after another; zero is never. What slides from use to
// use, as devices do, is compared by the minute.
func outlives(a, b time.Time) bool { return !b.IsZero() && (a.IsZero() || a.After(b.Add(time.Minute))) }

// mayRotate says whether one credential may get another's new secret: it can do all of
// that, lives as long, and made it.
func (c *credential) mayRotate(other *credential) bool {
	by := c.line()
	if !c.may("device:manage") || !c.covers(other) || other.hubsOwn() {
		return false
	}
	return by == nil || other.from(by) && !outlives(other.ends, by.ends)
}

// covers says whether it can do everything that another can.
func (c *credential) covers(other *credential) bool {
	if !c.scopes.covers(other.scopes) {
		return false
	}
	if c.machines == nil || !other.drives() {
		return true
	}
	return other.machines != nil && !slices.ContainsFunc(other.machines, func(m string) bool { return !c.reaches(m) })
}

// drives says whether it can do anything with machines, so that it matters which.
func (c *credential) drives() bool {
	return c.scopes["admin"] || slices.ContainsFunc(slices.Collect(maps.Keys(c.scopes)), func(name string) bool { return strings.HasPrefix(name, "fleet:") })
}

// mayEnd says whether one credential may end another: its own person's, that can do no more.
func (c *credential) mayEnd(other *credential) bool {
	if c.dead {
		return false
	}
	return c == other || c.may("admin") || c.may("device:manage") && c.person == other.person && c.covers(other)
}

// mayTalkAs says whether it may use the conversations of somebody.
func (c *credential) mayTalkAs(p *person) bool {
	return c.may("talk:admin") || c.may("talk") && c.person == p
}

// mayUse says whether it may use a task, or another thing that has an owner, of somebody.
func (c *credential) mayUse(p *person, scope string) bool {
	return c.may(scope) && (c.person == p || c.may("admin"))
}
