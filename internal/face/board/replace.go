package board

import (
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/viber"
)

// Newcomer is a node that has connected. A node is one thing, known by its device:
// its older connections, to whatever hub, are closed for the newest.
type Newcomer struct {
	Principal string `json:"principal"`
	Device    string `json:"device"`
	// Session orders connections: a later one has the greater id.
	Session string `json:"session"`
}

// arrived makes room for a node. Operators may come as often as they like.
func (c *conn) arrived(l *login) {
	if l.role != viber.RoleNode {
		return
	}
	n := Newcomer{Principal: l.session.Person.ID, Device: l.device, Session: l.id}
	c.face.Replace(n)
	if c.face.d.Arrived != nil {
		c.face.d.Arrived(n)
	}
}

// Replace closes this hub's older connections of a node.
func (f *Face) Replace(n Newcomer) {
	f.mu.Lock()
	var old []*conn
	for c := range f.conns {
		l := c.who()
		if l != nil && l.role == viber.RoleNode && l.session.Person.ID == n.Principal && l.device == n.Device && l.id < n.Session {
			old = append(old, c)
		}
	}
	f.mu.Unlock()
	for _, c := range old {
		c.replaced(n)
	}
}

// replaced tells a client that a newer connection has its place, and closes when
// it has had a moment to say goodbye.
func (c *conn) replaced(n Newcomer) {
	l := c.who()
	if !c.leave(viber.GoodbyeReplaced, wsconn.Code(viber.CloseReplaced)) {
		return
	}
	c.face.note(audit.Entry{
		Actor: l.session.String(), Action: audit.AuthReplaced, Target: l.id, Outcome: "replaced",
		Detail: c.detail(l, map[string]any{"by_session": n.Session}),
	})
	timer := time.AfterFunc(leaveTime, func() { c.end(wsconn.Code(viber.CloseReplaced), viber.GoodbyeReplaced) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.farewell = timer
}
