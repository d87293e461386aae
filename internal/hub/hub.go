package hub

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/embed"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/board"
	"parley.internal/internal/face/front"
	facemcp "parley.internal/internal/face/mcp"
	faceplace "parley.internal/internal/face/place"
	faceroom "parley.internal/internal/face/room"
	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/files"
	"parley.internal/internal/fleet"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/hub/metrics"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/internal/judge/rule"
	"parley.internal/internal/lease"
	"parley.internal/internal/mask"
	"parley.internal/internal/notify"
	"parley.internal/internal/pause"
	"parley.internal/internal/place"
	"parley.internal/internal/place/hosts"
	"parley.internal/internal/publicnet"
	"parley.internal/internal/room"
	"parley.internal/internal/room/ice"
	"parley.internal/internal/room/seat"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/skill"
	"parley.internal/internal/store"
	"parley.internal/internal/talk"
	"parley.internal/internal/terminal"
	"parley.internal/internal/witness"
	"parley.internal/internal/work"
	"parley.internal/internal/workspace"
	"parley.internal/internal/wsconn"
)

// Options are what a hub needs besides its settings.
type Options struct {
	Version string
	Logger  *slog.Logger
	// Box is what boxes for programs of agents can be made: sandbox.Probe. Without any, every
	// command asks.
	Box sandbox.Support
	// Keeper is how this program is told to keep a terminal: without, terminals end with
	// the hub.
	Keeper []string
	// Quiet opens the hub for a single command: no listener, no log.
	Quiet bool
	// Lookup resolves names of the outside; nil asks the system.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// busTime is how long a starting hub waits for the NATS servers.
const busTime = 15 * time.Second

// Hub is one running Parley.
type Hub struct {
	conf   config.Config
	opts   Options
	logger *slog.Logger
	folder Folder
	key    ed25519.PrivateKey
	db     *store.DB
	bus    bus.Bus
	leases *lease.Leases
	trail  *audit.Chain
	// mask is what nobody is shown; thinking is minds once they are there, for it.
	mask     *mask.Mask
	thinking atomic.Pointer[minds]
	// keeper hands the trail's checkpoints to what keeps them outside the database;
	// keptEnds is where that ended when the hub started.
	keeper   *witness.Keeper
	keptEnds []audit.Kept
	people   *identity.Directory
	// passkeys learn the hub's address when it listens.
	passkeys *identity.Passkeys
	inbox    *approval.Inbox
	minds    *minds
	spaces   *workspace.Spaces
	grants   *workspace.Grants
	websites *embed.Origins
	files    *files.Store
	sandbox  *sandbox.Sandbox
	parts    []part
	// notices is nil in a hub opened for a single command.
	notices *notify.Notices
	talk    *talk.Talk
	// talkFace serves conversations on the socket, TCP and /talk/ws.
	talkFace *facetalk.Face
	// fleet is machines, tunnel where they connect.
	fleet    *fleet.Fleet
	tunnel   *tunnel.Face
	rooms    *room.Rooms
	seats    *seat.Seats
	relay    *ice.Relay
	roomFace *faceroom.Face
	// mcpFace offers what the hub can do to language models.
	mcpFace   *facemcp.Face
	rules     judge.Rules // policy.approvals, once read
	standing  *rule.Rules // what people let their agents do without asking
	work      *work.Work
	terminals *terminal.Terminals
	board     *board.Face
	// present reports whether a person who may answer is connected; set by boards.
	present func(principal string) bool
	// place is the meeting place, placeFace its HTTP.
	place     *place.Place
	placeFace *faceplace.Face
	// makingKeys is held while a hosted agent gets its first keys.
	makingKeys sync.Mutex
	// skills is what agents exchange; hosts keeps them at places.
	skills  *skill.Skills
	hosts   *hosts.Hosts
	metrics *metrics.Metrics
	front   *front.Front
	parking *front.Parking
	gate    *gate
	// guard and outside reach addresses that came from outside.
	guard   publicnet.Guard
	outside *http.Client
	handler http.Handler
	routed  *front.Routes

	started    time.Time
	firstStart bool
	draining   atomic.Bool
	stopping   chan struct{}
	stopOnce   sync.Once
	closers    []func() error
}

// Open builds a hub. It serves nobody until Run; its handler works at once.
func Open(ctx context.Context, conf config.Config, opts Options) (*Hub, error) {
	h := &Hub{conf: conf, opts: opts, folder: Folder(conf.Data), started: time.Now(), logger: opts.Logger, stopping: make(chan struct{})}
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	for _, step := range []func(context.Context) error{
		h.openFolder, h.openMask, h.openStore, h.openKey, h.openBus, h.openMembership, h.openOutside, h.openTrail, h.openPeople, h.openInbox, h.openSandbox, h.openBrain, h.openParts, h.openFaces,
	} {
		if err := step(ctx); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// onClose adds to what Close undoes, last first.
func (h *Hub) onClose(f func() error) { h.closers = append(h.closers, f) }

func (h *Hub) openFolder(context.Context) error {
	if err := h.folder.Make(); err != nil {
		return err
	}
	unlock, err := h.folder.lockSoon()
	if err != nil {
		return err
	}
	h.onClose(func() error { unlock(); return nil })
	h.folder.sweep()
	return h.folder.finishRestore()
}

// diskReserve is enough for SQLite's log to go round, so that messages can be handed out
// for as long as the disk is full.
const diskReserve = 8 << 20

func (h *Hub) openStore(ctx context.Context) error {
	db, err := store.Open(ctx, h.conf.Database(), store.Options{Logger: h.logger, Reserve: diskReserve})
	if err != nil {
		return err
	}
	h.db = db
	h.onClose(db.Close)
	return nil
}

func (h *Hub) openBus(ctx context.Context) error {
	if h.conf.NATS == "" {
		h.bus = bus.NewLocal()
	} else {
		secret, err := busSecret(ctx, h.db)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, busTime)
		defer cancel()
		b, err := bus.ConnectNATS(ctx, bus.NATSConfig{Servers: h.conf.Bus(), Secret: secret, Name: h.name(), Log: h.logger})
		if err != nil {
			return fmt.Errorf("the NATS servers %s cannot be used: %w", h.conf.Bus().Hosts(), err)
		}
		h.bus = b
	}
	h.onClose(h.bus.Close)
	return nil
}

func (h *Hub) openMembership(ctx context.Context) error {
	alone := h.db.Dialect() == store.SQLite
	former, _ := h.folder.Running() // there is a note if it was killed
	leases, err := lease.Join(ctx, h.db, h.name(), lease.Options{
		Logger: h.logger, Alone: alone, Apart: !alone && h.conf.NATS == "", Former: former.HubID, Hears: h.bus.Healthy,
	})
	if err != nil {
		return err
	}
	h.leases = leases
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), checkTime)
		defer cancel()
		return leases.Close(ctx)
	})
	return nil
}

// openPeople makes the owner on the first start and keeps the owner's token
// where only the owner of the data folder can read it.
func (h *Hub) openPeople(ctx context.Context) error {
	people, err := identity.Open(ctx, h.db, h.bus, identity.Options{Audit: h.trail, Logger: h.logger})
	if err != nil {
		return err
	}
	h.people = people
	h.onClose(people.Close)
	owner, err := people.Bootstrap(ctx, "owner")
	if err != nil {
		return err
	}
	h.firstStart = owner.Created
	token := owner.Secret
	if _, err := h.folder.OwnerToken(); token == "" && errors.Is(err, os.ErrNotExist) {
		// Another hub of the cluster made the owner, or the file was lost: whoever
		// can open this folder and the database is the owner.
		issued, err := people.NewOwnerToken(ctx, h.name())
		if err != nil {
			return err
		}
		token = issued.Secret
	}
	if token != "" {
		if err := h.folder.WriteSecret(ownerTokenFile, []byte(token+"\n")); err != nil {
			return err
		}
	}
	h.keepOwnerToken()
	return nil
}

// keepOwnerToken uses this folder's token once a day while the hub runs, and ends those of
// folders that are gone.
func (h *Hub) keepOwnerToken() {
	if h.opts.Quiet {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for err := error(nil); err == nil; err = pause.For(ctx, 24*time.Hour) {
			if token, err := h.folder.OwnerToken(); err == nil {
				_, _ = h.people.Authenticate(ctx, token) // which notes that it is in use
			}
			if err := h.people.EndIdleOwnerTokens(ctx); err != nil && ctx.Err() == nil {
				h.logger.Warn("tokens of data folders that are gone could not be ended", "error", err)
			}
		}
	})
	h.onClose(func() error { stop(); work.Wait(); return nil })
}

func (h *Hub) openInbox(ctx context.Context) error {
	h.standing = &rule.Rules{DB: h.db, People: h.people, Trail: h.trail}
	inbox, err := approval.Open(ctx, h.db, h.bus, approval.Options{Audit: h.trail, Logger: h.logger, Rules: h.standing})
	if err != nil {
		return err
	}
	h.inbox = inbox
	h.onClose(inbox.Close)
	return nil
}

// storeErrors is what clients see of a store in trouble; faces do not know it.
var storeErrors = []front.Mapping{
	{Is: store.ErrFull, Status: http.StatusInsufficientStorage, Code: "disk_full", Detail: "the hub's disk is full"},
	{Is: store.ErrUnavailable, Status: http.StatusServiceUnavailable, Code: "storage_unavailable", Detail: "the hub's database cannot be reached; try again"},
	{Is: store.ErrReadOnly, Status: http.StatusServiceUnavailable, Code: "storage_unavailable", Detail: "the hub's database cannot be written"},
	{Is: store.ErrClosed, Status: http.StatusServiceUnavailable, Code: "shutting_down", Detail: "the hub is stopping; try again"},
}

func (h *Hub) openFaces(ctx context.Context) error {
	guard, err := wsconn.NewOriginPolicy(wsconn.OriginConfig{
		Listen: []string{h.conf.Listen}, PublicURL: h.conf.PublicURL, Hosts: h.conf.Hosts, Origins: h.conf.Origins,
		BehindProxy: len(h.conf.BehindProxy) > 0,
	})
	if err != nil {
		return err
	}
	if h.websites, err = embed.New(embed.Options{DB: h.db, Trail: h.trail, Always: h.conf.Rooms.Origins}); err != nil {
		return err
	}
	h.metrics = metrics.New(h.opts.Version)
	h.metrics.WatchBus(h.bus)
	h.metrics.MustRegister(metrics.Cluster(h.db, h.bus, h.leases))
	h.metrics.MustRegister(h.trailMetrics())
	h.parking = front.NewParking(idleTime, h.logger)
	h.front = front.New(front.Deps{
		People: h.people, Guard: guard, Websites: h.websites, Logger: h.logger, Watch: h.metrics, Trail: h.trail, Parking: h.parking,
		Paces:  front.Paces{Time: h.conf.Limits.BodyTime, Pause: h.conf.Limits.BodyPause},
		Errors: slices.Concat(storeErrors, visitErrors, workspaceErrors, fileErrors, websiteErrors),
	})
	if err := h.eachPart(func(p part) error { return call(ctx, p.faces) }); err != nil {
		return err
	}
	return h.routes()
}

// name is this hub's name in a cluster.
func (h *Hub) name() string {
	if h.conf.HubName != "" {
		return h.conf.HubName
	}
	host, err := os.Hostname()
	if err != nil {
		return "hub"
	}
	return host
}

// Routes are the declarations of everything the hub serves.
func (h *Hub) Routes() []front.Route { return h.routed.Declared() }

// Handler is everything the hub answers over HTTP.
func (h *Hub) Handler() http.Handler { return h.handler }

// PublicKey is the hub's Ed25519 key in base64.
func (h *Hub) PublicKey() string {
	public, _ := h.key.Public().(ed25519.PublicKey)
	return base64.StdEncoding.EncodeToString(public)
}

// LoginLink makes a one-time link that logs the owner in.
func (h *Hub) LoginLink(ctx context.Context) (string, error) {
	owner, err := h.people.Owner(ctx)
	if err != nil {
		return "", err
	}
	link, err := h.people.CreateLink(ctx, identity.Local(owner), identity.LinkRequest{})
	if err != nil {
		return "", err
	}
	return h.url() + api.LoginPath(link.Secret), nil
}

// url is where people reach the hub.
func (h *Hub) url() string {
	if h.conf.PublicURL != "" {
		return h.conf.PublicURL
	}
	scheme := "http"
	if h.conf.TLS.On() {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(h.conf.Listen)
	if err != nil || host == "" {
		host = "127.0.0.1"
	}
	if h.conf.TLS.ACMEDomain != "" {
		host = h.conf.TLS.ACMEDomain
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// beginStop lets nobody new in; /readyz says so and live streams end.
func (h *Hub) beginStop() {
	h.draining.Store(true)
	h.stopOnce.Do(func() { close(h.stopping) })
}

// Close undoes Open. It is safe to call more than once.
func (h *Hub) Close() {
	h.beginStop()
	for _, v := range slices.Backward(h.closers) {
		if err := v(); err != nil {
			h.logger.Error("stopping", "error", err)
		}
	}
	h.closers = nil
}
