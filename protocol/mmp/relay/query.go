package relay

import (
	"net/url"
	"time"

	"parley.internal/protocol/mmp"
)

// ReceiveQuery is a relay/receive or relay/peek.
type ReceiveQuery struct {
	AgentID   string
	Limit     int
	Wait      time.Duration
	ManualAck bool
	Lease     time.Duration
}

// ParseReceiveQuery reads it.
func ParseReceiveQuery(v url.Values, token string) (ReceiveQuery, error) {
	q := mmp.OpenQuery(v)
	r := ReceiveQuery{
		AgentID: q.Agent(token), Limit: q.Count("limit", 10, 0, 100),
		Wait:  seconds(q.Count("wait", 0, 0, int(mmp.MaxWait.Seconds()))),
		Lease: seconds(q.Count("lease", int(mmp.DefaultLease.Seconds()), int(mmp.MinLease.Seconds()), int(mmp.MaxLease.Seconds()))),
	}
	switch v.Get("ack") {
	case "", "auto":
	case "manual":
		r.ManualAck = true
	default:
		q.Fail("ack")
	}
	return r, q.Err()
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// SentQuery is a relay/sent.
type SentQuery struct {
	AgentID, RelayID string
	Limit            int
}

// ParseSentQuery reads it.
func ParseSentQuery(v url.Values, token string) (SentQuery, error) {
	q := mmp.OpenQuery(v)
	out := SentQuery{AgentID: q.Agent(token), RelayID: q.Text("relay_id", mmp.MaxID), Limit: q.Count("limit", 50, 0, 500)}
	return out, q.Err()
}
