package room

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"parley.internal/internal/defaults"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/room"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kibitz"
)

// Deps is what the face is made from.
type Deps struct {
	Rooms  room.API
	People *identity.Directory
	Front  *front.Front
	// PublicURL is where people reach the hub, if that is known: proofs are bound
	// to its origin when a request names its host.
	PublicURL string
	Log       *slog.Logger
	Limits    Limits
}

// Limits bound what clients may do; the zero value has the usual ones.
type Limits struct {
	Connections int // in all (20 000)
	Strangers   int // of one network that are nobody yet (64)
	Ping        time.Duration
	Silence     time.Duration
}

// Face serves the rooms protocol.
type Face struct {
	d       Deps
	group   *wsconn.Group
	sockets front.Sockets
}

// tooSlow is how a connection ends that does not read.
var tooSlow = wsconn.Close{Code: kibitz.CloseSlow, Reason: "too slow"}

// New makes a face; Close ends it.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	l := &d.Limits
	defaults.Set(&l.Connections, 20_000)
	defaults.Set(&l.Strangers, 64)
	defaults.Set(&l.Ping, 10*time.Second)
	defaults.Set(&l.Silence, 25*time.Second)
	f := &Face{d: d, group: wsconn.NewGroup(wsconn.Options{
		Read: wsconn.ReadLimit{Message: kibitz.MaxFrame}, RefuseBinary: true,
		Queue:    wsconn.QueueLimit{Frames: room.ReplayItems + 256, Bytes: room.ReplayBytes + 2<<20},
		Overflow: tooSlow,
		Ping:     wsconn.Heartbeat{Every: l.Ping},
		Silence:  wsconn.Silence{After: l.Silence, Close: wsconn.Close{Code: kibitz.CloseSlow, Reason: "silent"}},
		Log:      d.Log,
	})}
	f.sockets = front.Sockets{Group: f.group, Open: limit.NewCrowd(limit.Share{Total: l.Connections}), TooMany: f.tooMany, Log: d.Log}
	return f
}

// Close takes no new connections and ends those there are.
func (f *Face) Close(ctx context.Context) error {
	return f.group.Drain(ctx, kibitz.CloseGoingAway, "the hub is leaving")
}

// Shut ends what Close left.
func (f *Face) Shut() { f.group.Close() }

// Slow counts the connections that were cut because they did not read.
func (f *Face) Slow() int64 { return f.group.Metrics().Overflows.Load() }

// Route is where the face belongs. Who has come in must announce itself in the
// time the room gives it.
func (f *Face) Route() front.Route {
	return front.Route{
		Pattern: "GET /rooms/{room}/ws", Who: front.Stranger, Pages: front.ListedPages, Login: room.AnnounceTime, TooMany: f.tooMany,
		Strangers: limit.Share{PerNetwork: f.d.Limits.Strangers, Total: mostStrangers},
	}
}

// mostStrangers is how many connections may wait at all doors together.
const mostStrangers = 4000

func (f *Face) tooMany(w http.ResponseWriter, r *http.Request, why *limit.Error) {
	f.d.Front.TooMany(w, r, why, "too many connections of this address wait at the door")
}

// ServeHTTP is the relay and signalling socket of a room.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, err := f.d.Rooms.Resolve(r.Context(), r.PathValue("room"))
	if err != nil {
		f.d.Front.Fail(w, r, front.RoomProblem(err))
		return
	}
	session, err := f.d.Front.Visitor(r)
	if err != nil {
		f.d.Front.Fail(w, r, err)
		return
	}
	f.sockets.Upgrade(w, r, func(ws *wsconn.Conn, caller *front.Caller) wsconn.Handler {
		c := &client{face: f, ws: ws, caller: caller, entry: room.Entry{Room: id, Origin: f.origin(r), Address: front.Address(r), Actor: session}}
		c.begin()
		return c
	})
}

// origin is what the client dialled. The front door has checked Host.
func (f *Face) origin(r *http.Request) string {
	scheme := "http"
	if front.Secure(r) {
		scheme = "https"
	}
	if o, err := kibitz.Origin(scheme + "://" + r.Host); err == nil {
		return o
	}
	o, _ := kibitz.Origin(f.d.PublicURL)
	return o
}
