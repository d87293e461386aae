package approval

import (
	"strings"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/visible"
)

// Asker is who wants something and how they came here, as it was when they asked.
// Whoever decides is shown it, and it decides who may.
type Asker struct {
	Person identity.Principal `json:"person,omitzero"`
	Via    identity.Via       `json:"via,omitzero"`
}

// AskerOf is the actor as an asker.
func AskerOf(a identity.Actor) Asker { return Asker{Person: a.Person, Via: a.Via} }

// Words says by what somebody came, for whoever decides: a token by its name, a
// page by its browser. It is empty for the hub itself.
func (a Asker) Words() string {
	named := func(what string) string {
		if a.Via.Name == "" {
			return what
		}
		return what + " " + a.Via.Name
	}
	var parts []string
	switch v := a.Via; {
	case v.PageID != "":
		parts = append(parts, named("page"))
	case v.TokenID != "" && v.Credential == identity.TokenDevice:
		parts = append(parts, named("device"))
	case v.TokenID != "":
		parts = append(parts, named("token"))
	case a.Person.Kind == identity.KindPerson:
		parts = append(parts, "the hub's own machine")
	}
	if a.Via.Client != "" {
		parts = append(parts, "MCP client "+a.Via.Client)
	}
	return visible.Line(strings.Join(parts, ", "))
}

// Taint tells that words of strangers had entered the run when it asked: since when,
// and where the first came from.
type Taint struct {
	Since time.Time `json:"since,omitzero"`
	By    string    `json:"by,omitempty"`
}

// asked is what is kept of who asked.
type asked struct {
	Asker Asker  `json:"asker,omitzero"`
	Taint *Taint `json:"taint,omitempty"`
	Scene *Scene `json:"scene,omitempty"`
}

// Machines are the ids of every machine a question is about.
func (r Request) Machines() []string {
	var out []string
	if r.Policy.Right != nil {
		for _, m := range r.Policy.Right.Machines {
			out = append(out, m.ID)
		}
	}
	return out
}
