package hosts

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/brain"
	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/place"
	"parley.internal/internal/skill"
	"parley.internal/internal/wake"
	"parley.internal/protocol/mmp"
)

// Hosts keeps the agents of a hub at meeting places: at its own for as long as the hub
// runs, at others for a visit.
type Hosts struct {
	d      Deps
	agents *homeAgents
	ctx    context.Context //nolint:containedctx // the life of everything that runs here
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	home  map[string]context.CancelFunc
	stays map[string]*stay
	woken wake.Bell
}

// Deps is what hosts are made from. All of it is needed.
type Deps struct {
	Skills *skill.Skills
	Leases *lease.Leases
	Bus    bus.Bus
	Log    *slog.Logger
	// PlaceID is the id of this hub's own place, where nobody goes on a visit.
	PlaceID string
	// Files are the agents of this hub.
	Files Files
	// Host is an agent that meets others, with its keys; Keys are those of any.
	Host func(name string) (skill.Host, error)
	Keys func(name string) (mmpagent.Keys, error)
	// PeersPath is where an agent's pins are kept.
	PeersPath func(name string) string
	// Home and Away are how agents call this hub's own place and others: version and
	// client; the rest is filled in for each.
	Home, Away mmpagent.Options
	// PublicURL is where others reach this hub, if they do; Front is the agent that
	// answers there when nobody is named.
	PublicURL, Front string
}

// endpoint is where others talk to an agent directly; empty if they cannot.
func (d Deps) endpoint(agent string) string {
	if d.PublicURL == "" || agent == d.Front {
		return d.PublicURL
	}
	return strings.TrimRight(d.PublicURL, "/") + "?" + url.Values{"agent": {agent}}.Encode()
}

// Files are the agents of a hub as their files describe them.
type Files interface {
	Get(name string) (*brain.Agent, error)
	List() []brain.Entry
	Subscribe(changed func()) (cancel func())
}

// New makes hosts; Start lets them live.
func New(d Deps) *Hosts {
	ctx, stop := context.WithCancel(context.Background())
	return &Hosts{
		d: d, agents: newHomeAgents(d), ctx: ctx, stop: stop, home: map[string]context.CancelFunc{}, stays: map[string]*stay{}, woken: wake.New(),
	}
}

// Start registers the agents whose file says so, follows changes of the files, and
// goes on with visits that are not over.
func (p *Hosts) Start() {
	p.done.Go(p.followVisits)
	changed := make(chan struct{}, 1)
	cancel := p.d.Files.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	p.done.Go(func() {
		defer cancel()
		for {
			p.follow()
			select {
			case <-p.ctx.Done():
				return
			case <-changed:
			}
		}
	})
}

// follow starts and stops agents as their files say.
func (p *Hosts) follow() {
	wanted := map[string]bool{}
	for _, e := range p.d.Files.List() {
		wanted[e.Name] = e.Agent != nil && e.Agent.Place
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, stop := range p.home {
		if !wanted[name] {
			stop()
			delete(p.home, name)
		}
	}
	for name, on := range wanted {
		if _, running := p.home[name]; !on || running || p.ctx.Err() != nil {
			continue
		}
		ctx, stop := context.WithCancel(p.ctx)
		p.home[name] = stop
		p.done.Go(func() { p.live(ctx, name) })
	}
}

// pauses between tries of an agent that cannot be registered.
const hostPause = 5 * time.Second

// live is one agent at this hub's own place.
func (p *Hosts) live(ctx context.Context, name string) {
	defer p.d.Skills.Leave(name, "")
	for ctx.Err() == nil {
		agent, err := p.agents.get(ctx, name)
		if err == nil {
			var host skill.Host
			if host, err = p.d.Host(name); err == nil {
				p.d.Skills.Join(host, "", placeLine{agent})
				stop := beside(ctx, func(ctx context.Context) {
					p.keepShelf(ctx, name, placeLine{agent}, func() bool {
						file, err := p.d.Files.Get(name)
						return err == nil && file.Deposit
					})
				})
				err = agent.Run(ctx, p.handler(name, ""))
				stop()
			}
		}
		if ctx.Err() != nil {
			break
		}
		p.d.Log.Warn("an agent lost the meeting place; it tries again", "agent", name, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(hostPause):
		}
	}
}

// handler takes what the relay brings. A message is acknowledged once its effect is
// on disk.
func (p *Hosts) handler(name, at string) mmpagent.Handler {
	return func(ctx context.Context, m mmpagent.Message) error {
		if change, ok := errors.AsType[*mmpagent.KeyChange](m.Problem); ok {
			return p.d.Skills.KeyChanged(ctx, name, at, m.From, change.Pinned, change.Now)
		}
		if m.Problem != nil && mmp.ReasonOf(m.Problem) == mmp.ReasonSenderKey && m.Attempt < 3 {
			return m.Problem // the directory may answer better; it comes again
		}
		got, err := m.Read(skill.Known)
		if err != nil {
			p.d.Log.Info("a message could not be read", "agent", name, "from", m.From, "reason", err)
			return nil
		}
		from := place.Sender{ID: m.From, Proven: m.SenderProven, Version: m.Version, KeyID: m.KeyID, Earlier: m.Earlier}
		return p.d.Skills.Relayed(ctx, name, at, from, m.ID, got)
	}
}

// Stop lets go of everybody; whoever is on a visit stays on it, and another hub or the
// next start goes on with it. It may be called more than once.
func (p *Hosts) Stop() {
	p.stop()
	p.done.Wait()
}

// Close stops, and saves whom the agents have met.
func (p *Hosts) Close() error {
	p.Stop()
	return p.agents.close()
}
