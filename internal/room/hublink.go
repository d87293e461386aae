package room

import (
	"slices"
	"time"

	"parley.internal/protocol/kibitz"
)

// hubLink is the way from a room to another hub's connections. A frame for many
// of them travels once.
type hubLink struct {
	r    *room
	hub  string
	seen time.Time // its last sign of life
	out  *Out
	cids []string
}

func (r *room) hubLink(hub string) *hubLink {
	h := r.hubs[hub]
	if h == nil {
		h = &hubLink{r: r, hub: hub, seen: time.Now()}
		r.hubs[hub] = h
		r.need(h.seen.Add(hubSilence))
	}
	return h
}

func (r *room) linkTo(hub, cid string) roomLink { return &remoteLink{r.hubLink(hub), cid} }

// flush sends the frame that was gathering recipients.
func (h *hubLink) flush() {
	if h.out == nil {
		return
	}
	h.publish(head{CIDs: h.cids, Newest: h.out.Newest, Seq: h.out.seq}, h.out.Data)
	h.out, h.cids = nil, nil
}

func (h *hubLink) publish(m head, data []byte) {
	if err := publish(h.r.e.d.Bus, hubSubject(h.hub), m.message(data)); err != nil {
		h.r.e.d.Log.Warn("another hub misses a frame of a room", "room", h.r.id, "hub", h.hub, "error", err)
	}
}

func (r *room) flushHubs() {
	for _, h := range r.hubs {
		h.flush()
	}
}

// remoteLink is one connection of another hub.
type remoteLink struct {
	h   *hubLink
	cid string
}

func (l *remoteLink) Send(o *Out) {
	if l.h.out != o {
		l.h.flush()
		l.h.out = o
	}
	l.h.cids = append(l.h.cids, l.cid)
}

func (l *remoteLink) Close(code int, reason string) {
	l.h.flush()
	l.h.publish(head{Op: "close", CIDs: []string{l.cid}, Code: code, Reason: reason}, nil)
}

func (l *remoteLink) seated(id string, kind kibitz.Kind) {
	l.h.flush()
	l.h.publish(head{Op: "seated", CIDs: []string{l.cid}, Who: id, Kind: kind}, nil)
}

// beat is another hub's sign of life: connections it no longer has are gone,
// those unknown here must come again.
func (r *room) beat(hub string, cids []string) (unknown []string) {
	r.hubLink(hub).seen = time.Now()
	for _, c := range r.conns {
		if c.hub == hub && !slices.Contains(cids, c.CID) {
			r.depart(c.CID)
		}
	}
	for _, cid := range cids {
		if r.conns[cid] == nil {
			unknown = append(unknown, cid)
		}
	}
	return unknown
}

// dueHubs gives up connections of a hub that is silent.
func (r *room) dueHubs(now time.Time) {
	for name, h := range r.hubs {
		if at := h.seen.Add(hubSilence); now.Before(at) {
			r.need(at)
			continue
		}
		for _, c := range r.conns {
			if c.hub == name {
				r.depart(c.CID)
			}
		}
		delete(r.hubs, name)
	}
}

// cutHubs ends all connections of other hubs: something of theirs was lost.
func (r *room) cutHubs() {
	for _, c := range r.conns {
		if c.hub != "" {
			c.link.Close(kibitz.CloseGoingAway, "messages were lost between hubs")
			r.depart(c.CID)
		}
	}
}
