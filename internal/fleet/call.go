package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/protocol/kenny"
)

// prepared is a call after every check: frozen, and what will run if it runs.
type prepared struct {
	id       string
	m        *machine
	machine  string
	tool     kenny.Tool
	wire     jsontext.Value
	digest   string
	timeout  time.Duration
	queueFor time.Duration
	who      identity.Actor
	taint    *approval.Taint
	tainted  bool
	stranger bool
	unruled  bool
	approval *call.Approval
	fan      *fan   // the calls it stands for; nil for an ordinary one
	masked   string // the arguments as the call log keeps them
	deferred bool   // it has a row of its own in fleet_queue
	created  time.Time
	sent     time.Time
}

// Call is the only way to a machine; see [API].
func (f *Fleet) Call(ctx context.Context, who identity.Actor, req call.Request) (call.Result, error) {
	p, refusal := f.admit(who, req)
	if refusal != nil {
		return call.Result{}, refusal
	}
	fl, err := f.beginCall(ctx, p)
	if err != nil {
		return call.Result{}, err
	}
	result, err := f.run(fl, req)
	if err != nil {
		return call.Result{}, named(err, p.id)
	}
	return result, nil
}

// named gives every failure of a call its id.
func named(err error, id string) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		e = fault.Errorf(fault.Internal, "the hub could not do it: %w", err)
	}
	if e.CallID == "" {
		c := *e
		c.CallID = id
		e = &c
	}
	return e
}

// WouldRefuse implements API.
func (f *Fleet) WouldRefuse(who identity.Actor, req call.Request) error {
	if _, refusal := f.admit(who, req); refusal != nil {
		return refusal
	}
	return nil
}

// admit checks a call, and has it on record if it is refused.
func (f *Fleet) admit(who identity.Actor, req call.Request) (*prepared, *fault.Error) {
	p, refusal := f.prepare(who, req)
	if refusal == nil {
		return p, nil
	}
	f.refusedCall(who, req, refusal)
	if p != nil && refusal.Code == fault.Blocked {
		f.logRefused(p, refusal)
	}
	return nil, refusal
}

// prepare checks a call: scope → machine known → class and system → arguments →
// mirror.
func (f *Fleet) prepare(who identity.Actor, req call.Request) (*prepared, *fault.Error) {
	tool, ok := kenny.Lookup(req.Tool)
	if !ok {
		return nil, fault.Errorf(fault.UnknownTool, "there is no tool %q", fault.Quotable(req.Tool))
	}
	if err := may(who, scopeOf(tool)); err != nil {
		return nil, err
	}
	if req.Machine == "" {
		return nil, fault.Errorf(fault.NoAgent, "name the machine: agent_id is missing or blank")
	}
	m, refusal := f.reachable(who, req.Machine)
	if refusal != nil {
		return nil, refusal
	}
	p := &prepared{id: req.ID, m: m, machine: m.id, tool: tool, who: who, taint: req.Taint, tainted: req.Tainted || req.Taint != nil, stranger: req.Stranger, unruled: req.Unruled, queueFor: req.QueueFor, created: time.Now()}
	if p.id == "" {
		p.id = uuid.NewString()
	}
	if err := p.check(req); err != nil {
		return nil, err
	}
	return p, f.mirrored(p)
}

// mirrored refuses what a rule forbids, and records it.
func (f *Fleet) mirrored(p *prepared) *fault.Error {
	refusal := f.mirror(p.m.meta().OS, p.tool.Name, p.wire)
	if refusal == nil {
		return nil
	}
	refusal.CallID = p.id
	return refusal
}

// check holds the call to the tool's system, arguments and times.
func (p *prepared) check(req call.Request) *fault.Error {
	if os := p.m.meta().OS; os != "" {
		if err := p.tool.CheckOS(os); err != nil {
			return fault.FromWire(err)
		}
	}
	if _, err := uuid.Parse(p.id); err != nil {
		return fault.Errorf(fault.BadArgs, "a call's id must be a UUID")
	}
	if req.Timeout != 0 && (req.Timeout < kenny.MinTimeout || req.Timeout > kenny.MaxTimeout) {
		return fault.Errorf(fault.BadArgs, "timeout_s must be from 1 to 3600")
	}
	switch {
	case req.QueueFor < 0 || req.QueueFor > kenny.MaxQueue:
		return fault.Errorf(fault.BadArgs, "queue_for_s must be from 0 to %d", int(kenny.MaxQueue.Seconds()))
	case req.QueueFor > 0 && p.tool.Live:
		return fault.Errorf(fault.BadArgs, "%s cannot wait for a machine that is away", p.tool.Name)
	}
	raw, err := withTimeout(p.tool, req)
	if err != nil {
		return fault.Errorf(fault.BadArgs, "%s: the arguments are not a JSON object", p.tool.Name)
	}
	args, err := p.tool.CheckArgs(raw)
	if err != nil {
		return fault.FromWire(err)
	}
	p.wire = args.Wire()
	p.timeout = p.tool.Timeout
	if req.Timeout > 0 {
		p.timeout = req.Timeout
	}
	if p.tool.TimeoutOnWire() {
		p.timeout = time.Duration(args.Int("timeout_s")) * time.Second
	}
	p.digest, err = audit.Digest(p.wire)
	if err != nil {
		return fault.Errorf(fault.BadArgs, "%w", err)
	}
	return nil
}

// withTimeout puts the call's time-out into the arguments of tools that have it
// on the wire.
func withTimeout(t kenny.Tool, req call.Request) (jsontext.Value, error) {
	raw := req.Args
	if len(raw) == 0 {
		raw = jsontext.Value("{}")
	}
	if !t.TimeoutOnWire() || req.Timeout == 0 {
		return raw, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if members == nil {
		members = map[string]jsontext.Value{}
	}
	seconds := int((req.Timeout + time.Second - 1) / time.Second)
	members["timeout_s"] = jsontext.Value(text(seconds))
	return json.Marshal(members)
}

// refusedCall leaves a trace of a call that was refused before anything was asked:
// blocked ones are always on record.
func (f *Fleet) refusedCall(who identity.Actor, req call.Request, why *fault.Error) {
	f.stats.call(knownTool(req.Tool), why.Code, 0)
	if why.Code != fault.Blocked && why.Code != fault.Forbidden {
		return
	}
	f.d.Audit.Note(audit.Entry{
		Actor: who.String(), OnBehalf: who.OnBehalf(), Action: audit.FleetCall, Target: fault.Quotable(req.Machine), Outcome: string(why.Code),
		Detail: map[string]any{"tool": knownTool(req.Tool), "surface": surfaceOf(who), "token": who.TokenID, "address": who.Address, "message": why.Message, "call": why.CallID},
	})
	if why.Code == fault.Blocked {
		f.events.Put(telemetry.Event{
			Machine: req.Machine, Source: "hub", Kind: "audit", Level: kenny.LevelWarn, Target: "blocked", Message: why.Message,
			Fields: telemetry.Fields(map[string]any{"tool": req.Tool, "by": who.String()}),
		})
	}
}

// knownTool keeps foreign words out of metrics and the trail.
func knownTool(name string) string {
	if _, ok := kenny.Lookup(name); ok {
		return name
	}
	return "unknown"
}

// run takes a call from approval to outcome.
func (f *Fleet) run(fl *underway, req call.Request) (call.Result, error) {
	p := fl.p
	if v := f.judged(p); v.Action == judge.Ask {
		if err := f.ask(fl, req, v); err != nil {
			if fault.CodeOf(err) != fault.ApprovalPending {
				f.logDeclined(p, err)
			}
			return fl.finish(nil, err)
		}
	}
	fl.set(call.StateSent)
	res, err := f.perform(fl.ctx, p)
	if p.deferred {
		f.settleDeferred(p, res, err)
	}
	return fl.finish(res, err)
}

// perform is everything after approval.
func (f *Fleet) perform(ctx context.Context, p *prepared) (*call.Result, error) {
	if p.fan != nil {
		return p.fan.perform(ctx, p)
	}
	if p.approval != nil {
		// What a person approved must still be allowed: approval overrides nothing.
		if err := f.stillAllowed(ctx, p); err != nil {
			f.refusedCall(p.who, call.Request{Machine: p.machine, Tool: p.tool.Name}, err)
			return nil, err
		}
	}
	if p.queueFor > 0 && f.away(p.m) {
		return f.enqueue(ctx, p)
	}
	if err := f.logIntent(ctx, p); err != nil {
		return nil, err
	}
	began := time.Now()
	p.sent = began
	result, sent, err := f.transmit(ctx, p)
	if !sent && fault.CodeOf(err) == fault.Offline && p.queueFor > 0 {
		return f.enqueue(ctx, p)
	}
	f.logOutcome(p, result, err, time.Since(began))
	if err != nil {
		return nil, err
	}
	if p.tool.Name == toolCollect {
		f.collected(p, result)
	}
	return &call.Result{CallID: p.id, Machine: p.machine, Tool: p.tool.Name, State: call.StateDone, Result: result, Duration: time.Since(began)}, nil
}

// away reports whether no hub has the machine.
func (f *Fleet) away(m *machine) bool {
	presence, _ := m.presence(f.hub, f.d.Limits, time.Now())
	return presence != Online
}

// stillAllowed looks again at what may have changed while somebody thought.
func (f *Fleet) stillAllowed(ctx context.Context, p *prepared) *fault.Error {
	if f.d.Standing != nil {
		now, err := f.d.Standing(ctx, p.who)
		if err != nil {
			return fault.Errorf(fault.Forbidden, "the token this call came with is not valid any more")
		}
		p.who = now
	}
	if err := may(p.who, scopeOf(p.tool)); err != nil {
		return err
	}
	m, err := f.reachable(p.who, p.machine)
	if err != nil {
		return err
	}
	p.m = m
	return f.mirrored(p)
}

// learn keeps what an answer shows of the switch at the machine, and puts the
// machine's refusals into the trail.
func (f *Fleet) learn(p *prepared, err error) {
	if known := p.m.meta().Control; known != p.shown(known, err) {
		p.m.change(func(r *record) { r.meta.Control = p.shown(known, err) })
		f.changed(p.m)
	}
	e, _ := errors.AsType[*fault.Error](err)
	if e == nil || !e.FromMachine || e.Code != fault.Disabled && e.Code != fault.Blocked {
		return
	}
	f.events.Put(telemetry.Event{
		Machine: p.machine, Source: "hub", Kind: "audit", Level: kenny.LevelWarn, Target: string(e.Code), Message: fit.Cut(fit.Storable(e.Message), kenny.MaxLogMessage),
		Fields: telemetry.Fields(map[string]any{"tool": p.tool.Name, "call": p.id, "by": p.who.String()}),
	})
}

// Collect measures a machine now.
func (f *Fleet) Collect(ctx context.Context, who identity.Actor, id string, sections []string) (call.Result, error) {
	args := map[string]any{}
	if len(sections) > 0 {
		args["sections"] = sections
	}
	return f.Call(ctx, who, call.Request{Machine: id, Tool: toolCollect, Args: jsontext.Value(text(args))})
}
