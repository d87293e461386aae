package hub

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"parley/client/mmpagent"
	"parley/internal/place"
	"parley/internal/skill"
	"parley/protocol/mmp"
	"parley/protocol/mmp/meeting"
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
	poked  chan struct{}
}

func newHosts(h *Hub) *hosts {
	ctx, stop := context.WithCancel(context.Background())
	return &hosts{h: h, ctx: ctx, stop: stop, home: map[string]context.CancelFunc{}, visits: map[string]*visit{}, poked: make(chan struct{}, 1)}
}

// start registers the agents whose file says so, follows changes of the files, and
// goes on with visits that are not over.
func (p *hosts) start() {
	p.done.Go(p.followVisits)
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
func (l placeLine) Send(ctx context.Context, to string, m meeting.Message) error {
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

func (p *hosts) close() {
	p.stop()
	p.done.Wait()
}

// peersPath is where an agent's pins are kept.
func (h *Hub) peersPath(name string) string {
	return h.folder.Path(filepath.Join("keys", "place", name+".pem.peers.json"))
}
