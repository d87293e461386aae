package mmpagent

import (
	"slices"

	"parley.internal/protocol/mmp"
)

// mostTold is how many heads of one place are kept that others told of.
const mostTold = 8

// head is the longest log a place has shown us.
func (p *Peers) head(placeKey string) (mmp.Head, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.logs[placeKey]
	return h, ok
}

// headsOf is everything a new head of a place is held against.
func (p *Peers) headsOf(placeKey string) []mmp.Head {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Clone(p.told[placeKey])
	if h, ok := p.logs[placeKey]; ok {
		out = append(out, h)
	}
	return out
}

// heads lists the longest log of each place.
func (p *Peers) heads() []mmp.Head {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]mmp.Head, 0, len(p.logs))
	for _, h := range p.logs {
		if len(out) < mmp.MaxHeads {
			out = append(out, h)
		}
	}
	return out
}

// follow keeps a head that was seen to continue the others. Those it continues have
// said what they had to say.
func (p *Peers) follow(h mmp.Head) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.logs[h.PlaceKey]
	if ok && known.Size >= h.Size && len(p.told[h.PlaceKey]) == 0 {
		return nil
	}
	if p.logs == nil {
		p.logs = map[string]mmp.Head{}
	}
	if !ok || h.Size > known.Size {
		p.logs[h.PlaceKey] = h
	}
	delete(p.told, h.PlaceKey)
	return p.save()
}

// heard keeps heads that somebody else saw, of places we know: they are held against
// what those places show us next.
func (p *Peers) heard(heads []mmp.Head) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := false
	for _, h := range heads {
		known, ok := p.logs[h.PlaceKey]
		if !ok || known == h || h.Verify() != nil || slices.Contains(p.told[h.PlaceKey], h) || len(p.told[h.PlaceKey]) >= mostTold {
			continue
		}
		if p.told == nil {
			p.told = map[string][]mmp.Head{}
		}
		p.told[h.PlaceKey], changed = append(p.told[h.PlaceKey], h), true
	}
	if !changed {
		return nil
	}
	return p.save()
}
