package room

import (
	"cmp"
	"slices"
	"time"

	"parley.internal/protocol/kibitz"
)

func sortBy[T any](list []T, key func(T) string) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

// rank works out who is a host, and how high. It tells whether anything changed.
func (r *room) rank() bool {
	changed, named := false, false
	for _, p := range r.order {
		t := r.tierOf(p, &named)
		if t == p.tier {
			continue
		}
		changed = true
		if p.tier == "" {
			p.hostSince = time.Now()
		}
		p.tier = t
		p.refreshGrant()
		r.capsDirty = true
	}
	if changed {
		r.changed()
	}
	return changed
}

// tierOf is somebody's rank. named tells that the first of the host's name was
// found already.
func (r *room) tierOf(p *participant, named *bool) kibitz.Tier {
	h := &r.policy.Host
	switch {
	case p.Operator && p.Kind == kibitz.Human:
		return kibitz.TierOperator
	case p.HostKey != "" && p.HostKey == thumbprint(h.Key):
		return kibitz.TierKey
	case h.Email != "" && p.Email != "" && p.Kind == kibitz.Human && kibitz.SameEmail(h.Email, p.Email):
		return kibitz.TierEmail
	case h.Name != "" && h.Email == "" && len(h.Key) == 0 && p.Kind == kibitz.Human && p.Name == h.Name && !*named:
		*named = true
		return kibitz.TierName
	}
	return ""
}

func thumbprint(raw kibitz.Raw) string {
	if len(raw) == 0 {
		return ""
	}
	key, err := kibitz.ParsePublicKey(raw)
	if err != nil {
		return ""
	}
	return key.Thumbprint()
}

var ranks = map[kibitz.Tier]int{kibitz.TierOperator: 0, kibitz.TierKey: 1, kibitz.TierEmail: 2, kibitz.TierName: 3}

// hosts lists the hosts: highest rank first, then who was here longest.
func (r *room) hosts() []*participant {
	var out []*participant
	for _, p := range r.order {
		if p.tier != "" {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *participant) int { return cmp.Compare(ranks[a.tier], ranks[b.tier]) })
	return out
}

// publisher tells whether somebody may publish views.
func (r *room) publisher(p *participant) bool {
	for _, who := range r.policy.Views.Publishers {
		switch {
		case who == "host" && p.tier != "", who == "humans" && p.Kind == kibitz.Human, p.KeyID != "" && who == p.KeyID:
			return true
		}
	}
	return r.appointed[p.ID] || p.KeyID != "" && r.appointed[p.KeyID]
}
