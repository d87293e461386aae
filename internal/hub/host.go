package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/client/mmpagent"
	"parley/internal/place"
	"parley/internal/skill"
	"parley/protocol/mmp"
)

// hosts keeps the agents of this hub at meeting places: at its own for as long as
// the hub runs, at others for a visit.
type hosts struct {
	h    *Hub
	ctx  context.Context //nolint:containedctx // the life of everything that runs here
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	home   map[string]context.CancelFunc
	visits map[string]*visit
}

// visit is an agent at another place, for a while.
type visit struct {
	api   skill.Visit
	agent *mmpagent.Agent
	stop  context.CancelFunc
	ended chan struct{}
}

// maxVisits is how many may go on at once.
const maxVisits = 5

func newHosts(h *Hub) *hosts {
	ctx, stop := context.WithCancel(context.Background())
	return &hosts{h: h, ctx: ctx, stop: stop, home: map[string]context.CancelFunc{}, visits: map[string]*visit{}}
}

// start registers the agents whose file says so, and follows changes of the files.
func (p *hosts) start() {
	changed := make(chan struct{}, 1)
	cancel := p.h.minds.agents.Subscribe(func() {
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
func (p *hosts) follow() {
	wanted := map[string]bool{}
	for _, e := range p.h.minds.agents.List() {
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
func (p *hosts) live(ctx context.Context, name string) {
	defer p.h.skills.Leave(name, "")
	for ctx.Err() == nil {
		agent, err := p.h.placeAgents.get(ctx, name)
		if err == nil {
			var host skill.Host
			if host, err = p.h.skillHost(name); err == nil {
				p.h.skills.Join(host, "", placeLine{agent})
				err = agent.Run(ctx, p.handler(name, ""))
			}
		}
		if ctx.Err() != nil {
			break
		}
		p.h.logger.Warn("an agent lost the meeting place; it tries again", "agent", name, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(hostPause):
		}
	}
}

// handler takes what the relay brings. A message is acknowledged once its effect is
// on disk.
func (p *hosts) handler(name, at string) mmpagent.Handler {
	return func(ctx context.Context, m mmpagent.Message) error {
		if change, ok := errors.AsType[*mmpagent.KeyChange](m.Problem); ok {
			return p.h.skills.KeyChanged(ctx, name, at, m.From, change.Pinned, change.Now)
		}
		if m.Problem != nil && mmp.ReasonOf(m.Problem) == mmp.ReasonSenderKey && m.Attempt < 3 {
			return m.Problem // the directory may answer better; it comes again
		}
		got, err := m.Read(skill.Known)
		if err != nil {
			p.h.logger.Info("a message could not be read", "agent", name, "from", m.From, "reason", err)
			return nil
		}
		from := place.Sender{ID: m.From, Proven: m.SenderProven, Version: m.Version, KeyID: m.KeyID}
		return p.h.skills.Relayed(ctx, name, at, from, m.ID, got)
	}
}

// placeLine is how skills reach others at a place.
type placeLine struct{ agent *mmpagent.Agent }

// Send seals and sends; a note travels as its text alone.
func (l placeLine) Send(ctx context.Context, to string, m mmp.Message) error {
	if m.Action == skill.ActionNote {
		var note struct {
			Text string `json:"text"`
		}
		if err := mmp.Decode(m.Payload, &note); err != nil {
			return err
		}
		_, err := l.agent.Send(ctx, to, m.Action, note.Text)
		return err
	}
	_, err := l.agent.Send(ctx, to, m.Action, m)
	return err
}

// Key is the pinned key of an address.
func (l placeLine) Key(ctx context.Context, address string) *mmp.PublicKey {
	key, _, err := l.agent.Key(ctx, address)
	if err != nil {
		return nil
	}
	return key
}

// AcceptKey pins another key, after a person said so.
func (l placeLine) AcceptKey(ctx context.Context, address, keyID string) error {
	return l.agent.AcceptKey(ctx, address, keyID)
}

// Visit sends an agent to another place for a while.
func (p *hosts) Visit(ctx context.Context, r skill.VisitRequest) (skill.Visit, error) {
	host, err := p.h.skillHost(r.Agent)
	if err != nil {
		return skill.Visit{}, fmt.Errorf("%w: %s", skill.ErrNoAgent, r.Agent)
	}
	agent, err := p.enter(ctx, r)
	if err != nil {
		return skill.Visit{}, fmt.Errorf("%w: %w", skill.ErrInvalid, err)
	}
	info, err := agent.Info(ctx)
	if err != nil {
		return skill.Visit{}, err
	}
	if info.PlaceID == p.h.place.PlaceID() {
		return skill.Visit{}, fmt.Errorf("%w: that is this hub's own place", skill.ErrInvalid)
	}
	if r.For <= 0 {
		r.For = time.Hour
	}
	v := &visit{agent: agent, ended: make(chan struct{}), api: skill.Visit{
		Agent: r.Agent, AgentID: agent.ID(), URL: r.URL, Place: firstOr(info.PlaceID, r.URL), Name: info.Name, Keep: r.Keep, Until: time.Now().Add(min(r.For, 24*time.Hour)),
	}}
	v.api.ID = r.Agent + "@" + v.api.Place
	if err := p.begin(v); err != nil {
		return skill.Visit{}, err
	}
	p.h.skills.Join(host, v.api.Place, placeLine{agent})
	return v.api, nil
}

func firstOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// enter registers the agent there. Whom it meets is remembered with whom it met at
// home.
func (p *hosts) enter(ctx context.Context, r skill.VisitRequest) (*mmpagent.Agent, error) {
	keys, err := p.h.placeKeys(r.Agent)
	if err != nil {
		return nil, err
	}
	peers, err := p.h.placeAgents.peers(r.Agent)
	if err != nil {
		return nil, err
	}
	agent, err := mmpagent.Open(r.URL, mmpagent.Options{
		Name: r.Agent, Version: p.h.opts.Version, Keys: keys, Peers: peers, Insecure: r.Insecure,
		Capabilities: mmp.CoreActions(), HTTP: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}},
	})
	if err != nil {
		return nil, err
	}
	_, err = agent.Register(ctx)
	return agent, err
}

// begin runs a visit; one to the same place with the same agent takes its turn.
func (p *hosts) begin(v *visit) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return fmt.Errorf("%w: the hub is stopping", skill.ErrInvalid)
	}
	if old := p.visits[v.api.ID]; old != nil {
		old.api.Keep = true // the same agent stays registered
		old.stop()
	} else if len(p.visits) >= maxVisits {
		return fmt.Errorf("%w: %d visits go on already", skill.ErrInvalid, maxVisits)
	}
	ctx, stop := context.WithDeadline(p.ctx, v.api.Until)
	v.stop = stop
	p.visits[v.api.ID] = v
	p.done.Go(func() { p.stay(ctx, v) })
	return nil
}

// stay receives until the time is up, then leaves.
func (p *hosts) stay(ctx context.Context, v *visit) {
	defer close(v.ended)
	defer v.stop()
	for ctx.Err() == nil {
		err := v.agent.Run(ctx, p.handler(v.api.Agent, v.api.Place))
		if ctx.Err() != nil {
			break
		}
		p.h.logger.Warn("a visit is disturbed; it goes on", "agent", v.api.Agent, "place", v.api.URL, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(hostPause):
		}
	}
	p.mu.Lock()
	keep := v.api.Keep
	if p.visits[v.api.ID] == v {
		delete(p.visits, v.api.ID)
		p.h.skills.Leave(v.api.Agent, v.api.Place)
	}
	p.mu.Unlock()
	leaving, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if !keep {
		_, _ = v.agent.Unregister(leaving) // it expires there in any case
	}
	_ = v.agent.Close()
}

// Visits lists those that go on.
func (p *hosts) Visits() []skill.Visit {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []skill.Visit{}
	for _, v := range p.visits {
		out = append(out, v.api)
	}
	slices.SortFunc(out, func(a, b skill.Visit) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// EndVisit brings an agent home.
func (p *hosts) EndVisit(ctx context.Context, id string) error {
	p.mu.Lock()
	v := p.visits[id]
	p.mu.Unlock()
	if v == nil {
		return skill.ErrNotFound
	}
	v.stop()
	select {
	case <-v.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *hosts) close() {
	p.stop()
	p.done.Wait()
}

// peersPath is where an agent's pins are kept.
func (h *Hub) peersPath(name string) string {
	return h.folder.Path(filepath.Join("keys", "place", name+".pem.peers.json"))
}
