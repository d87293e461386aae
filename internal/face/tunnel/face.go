package tunnel

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/limit"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kenny"
)

// Fleet is what the tunnel needs of the machines; *fleet.Fleet is one.
type Fleet interface {
	Greet(reg *kenny.Register, address string) (*fleet.Greeting, error)
	Admit(ctx context.Context, g *fleet.Greeting, auth *kenny.Auth, link fleet.Link) (*fleet.Session, error)
	Refused(claimed, address, reason string)
	Enrol(ctx context.Context, req fleet.EnrolRequest) error
	PeekInstall(ctx context.Context, secret string, shell update.Shell) error
	OpenInstall(ctx context.Context, secret string, shell update.Shell, address string) (string, error)
	InstallProgram(ctx context.Context, secret, platform string) (update.Content, error)
	Download(ctx context.Context, secret string) (update.Content, error)
	DownloadSignature(ctx context.Context, secret string) (string, error)
	Quiesce(ctx context.Context)
	Stats() *fleet.Stats
}

// Deps is what the face is made from.
type Deps struct {
	Fleet  Fleet
	Front  *front.Front
	Log    *slog.Logger
	Limits Limits
}

// Limits bound strangers; the zero value has the usual ones.
type Limits struct {
	// PerAddress and Total are sockets that have not proved anything yet.
	PerAddress int // 100
	Total      int // 2,000
	// Failures is how many failed handshakes an address may have in a minute.
	Failures int // 300
	// Handshake is how long each step may take.
	Handshake time.Duration // 10 s
	// Enrolments is how many refused enrolment tokens an address may have in a
	// minute.
	Enrolments int // 60
}

func (l Limits) withDefaults() Limits {
	for _, n := range []struct {
		to    *int
		usual int
	}{{&l.PerAddress, 100}, {&l.Total, 2000}, {&l.Failures, 300}, {&l.Enrolments, 60}} {
		if *n.to <= 0 {
			*n.to = n.usual
		}
	}
	if l.Handshake <= 0 {
		l.Handshake = kenny.HandshakeWait
	}
	return l
}

// Face serves machines.
type Face struct {
	d       Deps
	limits  Limits
	group   *wsconn.Group
	sockets front.Sockets
	failed  limit.Window // handshakes of a network
	enrols  limit.Window // refused tokens of a network
}

// New makes the face; Close ends it.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	l := d.Limits.withDefaults()
	f := &Face{
		d: d, limits: l, failed: limit.Window{Most: l.Failures}, enrols: limit.Window{Most: l.Enrolments},
		group: wsconn.NewGroup(wsconn.Options{
			Read: wsconn.ReadLimit{Message: kenny.MaxUnauthenticated, Close: wsconn.Close{Code: wsconn.Code(kenny.CloseUnauthorized), Reason: "too much before authentication"}},
			// A machine on a thin line may take its time for a screenshot.
			MessageTimeout: 10 * time.Minute, WriteTimeout: kenny.WriteWait,
			Queue: wsconn.QueueLimit{Frames: kenny.QueueFrames + 8, Bytes: kenny.QueueFrames * kenny.MaxRequest},
			Log:   d.Log,
		}),
	}
	// A fleet has no size it may not have: what is counted is who is nobody yet.
	f.sockets = front.Sockets{Group: f.group, Open: limit.NewCrowd(limit.Share{}), TooMany: f.crowded, Log: d.Log}
	return f
}

// Routes puts the face on its paths.
func (f *Face) Routes(routes *front.Routes) {
	routes.HandleFunc(front.Route{
		Pattern: "GET /agent/ws", Who: front.Stranger, Login: f.limits.Handshake, TooMany: f.crowded,
		Strangers: limit.Share{PerNetwork: f.limits.PerAddress, Total: f.limits.Total},
		Rate:      front.Rate{ByHandler: fmt.Sprintf("%d failed handshakes a minute per network", f.limits.Failures)},
	}, f.serveTunnel)
	routes.HandleFunc(front.Route{
		Pattern: "POST /api/agents/{id}/enroll", Who: front.Stranger, Body: front.Body{Max: kenny.MaxEnrolBody}, TooMany: f.crowded,
		Strangers: limit.Share{PerNetwork: 64, Total: 1000, Local: 1000},
		Rate:      front.Rate{ByHandler: fmt.Sprintf("%d refused tokens a minute per network", f.limits.Enrolments)},
	}, f.serveEnrol)
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /install/{nonce}": f.serveInstall, "GET /install/{nonce}/bin/{platform}": f.serveInstallProgram, "GET /d/endpoint/{nonce}": f.serveDownload,
	} {
		routes.HandleFunc(front.Route{Pattern: pattern, Who: front.Stranger}, serve)
	}
}

// Connected counts open tunnels, strangers included.
func (f *Face) Connected() int { return f.group.Len() }

// spreadPer keeps machines from coming back all at once: their goodbyes are that
// far apart, five seconds in all at most.
const (
	spreadPer  = 5 * time.Millisecond
	spreadMost = 5 * time.Second
)

// Close lets calls finish for a while, then sends the machines elsewhere.
func (f *Face) Close(ctx context.Context) error {
	f.d.Fleet.Quiesce(ctx)
	spread := min(spreadMost, time.Duration(f.group.Len())*spreadPer)
	return f.group.DrainOver(ctx, spread, wsconn.Code(kenny.CloseRestart), "the hub is stopping")
}
