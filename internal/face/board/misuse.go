package board

import (
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/audit"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/viber"
)

// strangers bounds what clients that never said who they are can write into the
// trail: what matters shows in the first of it.
func strangers() *rate.Limiter { return rate.NewLimiter(rate.Every(time.Second), 60) }

// crowds bounds it for addresses that want too many connections, apart from the
// others: who only knocks must not hide what those inside do.
func crowds() *rate.Limiter { return rate.NewLimiter(rate.Every(time.Second), 10) }

// crowded puts on record that an address had all the connections it may have.
func (f *Face) crowded(address string) {
	if f.crowds.Allow() {
		f.note(audit.Entry{
			Actor: "address:" + address, Action: audit.BoardMisuse, Outcome: string(viber.CodeRateLimited) + "/too_many_connections",
			Detail: map[string]any{"by_address": address},
		})
	}
}

// misuse puts on record that a client did what it should not: garbage, the wrong
// order, floods, other people's scopes. Each kind is there once per connection.
// What was wrong with a credential has entries of its own.
func (c *conn) misuse(e *viber.ConnectionError) {
	var reason viber.Reason
	if e.Details != nil {
		reason = e.Details.Reason
	}
	switch {
	case e.Code == viber.CodeProtocolError || e.Code == viber.CodeRateLimited:
	case reason == viber.ReasonNotAuthenticated || reason == viber.ReasonInsufficientScope || reason == viber.ReasonAuthTimeout:
	default:
		return
	}
	outcome := string(e.Code)
	if reason != "" {
		outcome += "/" + string(reason)
	}
	c.noteMisuse(outcome)
}

func (c *conn) noteMisuse(outcome string) {
	c.mu.Lock()
	known := c.misused[outcome]
	if c.misused == nil {
		c.misused = map[string]bool{}
	}
	c.misused[outcome] = true
	l := c.login
	c.mu.Unlock()
	if known || l == nil && !c.face.strangers.Allow() {
		return
	}
	entry := audit.Entry{Actor: "address:" + c.address, Action: audit.BoardMisuse, Outcome: outcome, Detail: map[string]any{"by_address": c.address}}
	if l != nil {
		entry.Actor, entry.Target, entry.Detail = l.session.String(), l.id, c.detail(l, nil)
	}
	c.face.note(entry)
}

// cut puts on record why the connection itself ended a client: its frames were
// too large, or it did not read.
func (c *conn) cut(why wsconn.Ended) {
	if why.ByPeer {
		return
	}
	switch why.Code {
	case wsconn.CodeTooLarge:
		c.noteMisuse(string(viber.CodeProtocolError) + "/" + string(viber.ReasonTooLarge))
	case wsconn.Code(viber.CloseSlowConsumer):
		c.noteMisuse(string(viber.CodeRateLimited) + "/" + string(viber.ReasonSlowConsumer))
	case wsconn.CodeInvalid:
		c.noteMisuse(string(viber.CodeProtocolError) + "/" + string(viber.ReasonBadJSON))
	}
}
