package hosts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/publicnet"
	"parley.internal/internal/skill"
	"parley.internal/internal/wake"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

const (
	// visitSubject wakes the hubs of a cluster when a visit begins or should end.
	visitSubject = "skill.visits"
	visitsEvery  = 5 * time.Second
)

// Visit sends an agent to another place for a while. It is there when this returns.
func (p *Hosts) Visit(ctx context.Context, who identity.Actor, r skill.VisitRequest) (skill.Visit, error) {
	v, err := p.mayGo(ctx, who, "place_visit", r)
	if err != nil {
		return skill.Visit{}, err
	}
	agent, err := p.enterPlace(ctx, v)
	if err != nil {
		p.takeBack(ctx, v, agent)
		return skill.Visit{}, err
	}
	info, err := agent.Info(ctx)
	if err == nil {
		v.Place, v.Name = placeName(info.PlaceID, r.URL), info.Name
		v, err = p.d.Skills.BeginVisit(ctx, who.String(), v, r.Length())
	}
	if err != nil {
		p.takeBack(ctx, v, agent)
		return skill.Visit{}, err
	}
	if info.PlaceKey != nil {
		v.PlaceKey = *info.PlaceKey
	}
	p.begin(ctx, v, atPlace{agent, p, v.URL})
	p.wakeAll()
	return v, nil
}

// mayGo says whether the actor may send the agent there, once the judge let them.
func (p *Hosts) mayGo(ctx context.Context, who identity.Actor, tool string, r skill.VisitRequest) (skill.Visit, error) {
	acting := p.d.Skills.As(who)
	if err := acting.MayActAs(ctx, r.Agent); err != nil {
		return skill.Visit{}, err
	}
	host, err := p.d.Host(r.Agent)
	if err != nil {
		return skill.Visit{}, fmt.Errorf("%w: %s", skill.ErrNoAgent, r.Agent)
	}
	v := skill.Visit{Agent: r.Agent, AgentID: host.ID, URL: r.URL, Keep: r.Keep, Deposit: r.Deposit, Insecure: r.Insecure}
	return v, acting.Allow(ctx, tool, map[string]any{"agent": r.Agent, "url": r.URL, "insecure": r.Insecure, "deposit": r.Deposit})
}

// takeBack unregisters an agent whose visit came to nothing. One that was there
// before stays.
func (p *Hosts) takeBack(ctx context.Context, v skill.Visit, agent *mmpagent.Agent) {
	if agent == nil || !agent.Entered() {
		return
	}
	for _, other := range p.running() {
		if now := other.state(); now.Agent == v.Agent && (now.URL == v.URL || now.Place == v.Place) {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
	defer cancel()
	if _, err := agent.Unregister(ctx); err != nil {
		p.d.Log.Warn("a visit that failed could not be taken back; the registration there expires", "agent", v.Agent, "place", v.URL, "error", err)
	}
}

// placeName is the id a place gives itself, if it has a sound one, or one made from
// its address.
func placeName(id, url string) string {
	if mmp.ValidID(id) {
		return id
	}
	sum := sha256.Sum256([]byte(url))
	return "place_" + hex.EncodeToString(sum[:8])
}

// away is how an agent calls others. Whom it meets is remembered with whom it met at home.
func (p *Hosts) away(ctx context.Context, v skill.Visit) (mmpagent.Options, error) {
	opts := p.d.Away
	keys, err := p.d.Keys(v.Agent)
	if err != nil {
		return opts, err
	}
	peers, err := p.agents.peers(v.Agent)
	if err != nil {
		return opts, err
	}
	can, err := p.d.Skills.Actions(ctx, keys.ID())
	opts.Name, opts.Endpoint, opts.Keys, opts.Peers, opts.Insecure, opts.Capabilities = v.Agent, p.d.endpoint(v.Agent), keys, peers, v.Insecure, can
	return opts, err
}

// enterPlace registers the agent there, if it is the place it was before.
func (p *Hosts) enterPlace(ctx context.Context, v skill.Visit) (*mmpagent.Agent, error) {
	opts, err := p.away(ctx, v)
	if err != nil {
		return nil, err
	}
	opts.Admit = func(ctx context.Context, info board.Info) error { return p.checkPlace(ctx, v.URL, info) }
	agent, err := mmpagent.Open(v.URL, opts)
	if err == nil {
		_, err = agent.Register(ctx)
	}
	return agent, unreached(err)
}

// unreached says what can be done about somebody who could not be called.
func unreached(err error) error {
	if errors.Is(err, publicnet.ErrNotPublic) {
		err = fmt.Errorf("%w: agents go there if whoever runs the hub lists it in net.allow_private", err)
	}
	if err != nil && !errors.Is(err, skill.ErrPlaceChanged) && !errors.Is(err, skill.ErrInvalid) {
		err = fmt.Errorf("%w: %w", skill.ErrInvalid, err)
	}
	return err
}

func (p *Hosts) checkPlace(ctx context.Context, url string, info board.Info) error {
	if info.PlaceID == p.d.PlaceID {
		return fmt.Errorf("%w: that is this hub's own place", skill.ErrInvalid)
	}
	key := ""
	if info.PlaceKey != nil {
		key = *info.PlaceKey
	}
	return p.d.Skills.CheckPlace(ctx, url, info.PlaceID, key)
}

// wakeAll lets this hub and the others of a cluster look at the visits.
func (p *Hosts) wakeAll() {
	p.wake()
	_ = p.d.Bus.Publish(visitSubject, nil) // they look by themselves, later
}

func (p *Hosts) wake() {
	p.woken.Ring()
}

// followVisits runs the visits that nobody else runs, until the hub stops.
func (p *Hosts) followVisits() {
	sub, err := p.d.Bus.Subscribe(visitSubject, func(bus.Msg) { p.wake() })
	if err == nil {
		defer sub.Close()
	}
	tick := time.NewTicker(visitsEvery)
	defer tick.Stop()
	for {
		if err := p.lookAtVisits(p.ctx); err != nil && p.ctx.Err() == nil {
			p.d.Log.Warn("looking at visits", "error", err)
		}
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
		case <-p.woken:
		}
	}
}

func (p *Hosts) lookAtVisits(ctx context.Context) error {
	// Before the store is asked: one that begins meanwhile is not in its answer.
	running := p.running()
	all, err := p.d.Skills.As(identity.Hub()).Visits(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, v := range all {
		known[v.ID] = true
		p.mu.Lock()
		mine := p.stays[v.ID]
		p.mu.Unlock()
		if mine != nil {
			mine.tell()
		} else {
			p.begin(ctx, v, nil)
		}
	}
	for id, mine := range running {
		if !known[id] {
			mine.stop()
		}
	}
	return nil
}

func (p *Hosts) running() map[string]*stay {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.stays)
}

// begin runs a visit here, unless another hub does or its agent is not ours.
func (p *Hosts) begin(ctx context.Context, at skill.Visit, here presence) {
	keys, err := p.d.Keys(at.Agent)
	if err != nil || keys.ID() != at.AgentID || !p.vacate(ctx, at) {
		return // of a hub with another folder, or it runs already
	}
	mine, err := p.d.Leases.Acquire(ctx, "visit."+at.ID)
	if err != nil {
		return // another hub has it, or we try again soon
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil || p.stays[at.ID] != nil {
		return
	}
	running, stop := context.WithCancel(p.ctx)
	v := &stay{hosts: p, lease: mine, id: at.ID, seen: at, here: here, stop: stop, news: wake.New(), ended: make(chan struct{})}
	p.stays[at.ID] = v
	p.done.Go(func() { v.run(running) })
}

// vacate makes room for a visit that begins anew at another address of its place;
// one that goes on as it is, is told.
func (p *Hosts) vacate(ctx context.Context, at skill.Visit) bool {
	p.mu.Lock()
	old := p.stays[at.ID]
	p.mu.Unlock()
	if old == nil {
		return true
	}
	if now := old.state(); now.URL == at.URL && now.Insecure == at.Insecure {
		old.tell()
		return false
	}
	old.stop()
	select {
	case <-old.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// EndVisit brings an agent home, from whatever hub it is visiting.
func (p *Hosts) EndVisit(ctx context.Context, who identity.Actor, id string) error {
	if err := p.d.Skills.As(who).AskEnd(ctx, id); err != nil {
		return err
	}
	p.wakeAll()
	p.mu.Lock()
	mine := p.stays[id]
	p.mu.Unlock()
	if mine == nil {
		return nil // the hub that has it brings it home
	}
	mine.tell()
	select {
	case <-mine.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
