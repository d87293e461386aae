package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	jsonx "github.com/go-json-experiment/json"

	"parley.internal/internal/face/front"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// RegisterFleet adds machines: how they are, what is done on them, who they are.
func RegisterFleet(a *API, machines fleet.API, live Live) {
	fr := fleetRoutes{api: a, fleet: machines, live: live}
	fr.machineRoutes()
	fr.callRoutes()
	fr.ruleRoutes()
	fr.updateRoutes()
}

type fleetRoutes struct {
	api   *API
	fleet fleet.API
	live  Live
}

// fleetDialect is JSON that carries machines' own objects as they came.
var fleetDialect = dialect{
	read: readFleetBody, write: func(v any) ([]byte, error) { return jsonx.Marshal(v) }, problem: fleetProblem, badRequest: string(fault.BadArgs),
}

// fleetAccess is for whoever has a scope of the fleet.
func fleetAccess(scope string) access { return access{Scope: scope, Tag: "machines"} }

// serve adds an operation of the fleet.
func serve[In, Out any](fr fleetRoutes, scope string, op rest.Operation[In, Out], handle handler[In, Out]) {
	addWire(fr.api, fleetDialect, fleetAccess(scope), op, handle)
}

// stream adds one that writes its answer itself.
func stream[In, Out any](fr fleetRoutes, scope string, op rest.Operation[In, Out], handle writer) {
	addRaw(fr.api, fleetAccess(scope), op, func(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
		return fleetProblem(handle(w, r, who))
	})
}

// fleetStatus is the one table from codes to HTTP; what is not in it, and whatever
// a machine answers, is 502.
var fleetStatus = map[fault.Code]int{
	fault.Timeout: http.StatusGatewayTimeout, fault.Forbidden: http.StatusForbidden, fault.Denied: http.StatusForbidden,
	fault.ApprovalTimeout: http.StatusForbidden, fault.Busy: http.StatusTooManyRequests,
	fault.BadArgs: http.StatusBadRequest, fault.UnknownTool: http.StatusBadRequest, fault.NoAgent: http.StatusBadRequest,
	fault.Blocked: http.StatusConflict, fault.Disabled: http.StatusConflict, fault.Conflict: http.StatusConflict, fault.Cancelled: http.StatusConflict,
	fault.Unavailable: http.StatusServiceUnavailable,
}

// hubStatus is for codes that mean something else when the hub itself says so.
var hubStatus = map[fault.Code]int{
	fault.NotFound: http.StatusNotFound, fault.Unsupported: http.StatusBadRequest, fault.TooLarge: http.StatusRequestEntityTooLarge,
	fault.Internal: http.StatusInternalServerError,
}

func fleetProblem(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	status, known := fleetStatus[e.Code]
	if own, has := hubStatus[e.Code]; has && !e.FromMachine {
		status, known = own, true
	}
	if !known {
		status = http.StatusBadGateway
	}
	return front.NewProblem(status, string(e.Code), e.Message, err)
}

// readFleetBody fills v from a JSON body; an empty one leaves it as it is. Unknown keys
// are the caller's mistake.
func readFleetBody(data []byte, v any) error {
	if len(data) == 0 {
		return nil
	}
	if err := jsonx.Unmarshal(data, v, jsonx.RejectUnknownMembers(true)); err != nil {
		return front.NewProblem(http.StatusBadRequest, "bad_args", "the body does not fit: "+fit.OneLine(err.Error()), err)
	}
	return nil
}

func badFleetQuery(text string) error {
	return front.NewProblem(http.StatusBadRequest, "bad_args", text, nil)
}

func (fr fleetRoutes) machineRoutes() {
	const read, admin = identity.FleetRead, identity.FleetAdmin
	serve(fr, read, rest.FleetOverview, fr.overview)
	serve(fr, read, rest.FleetTrend, fr.trend)
	stream(fr, read, rest.FleetStream, fr.stream)
	serve(fr, read, rest.ListTools, fr.tools)
	serve(fr, read, rest.ListFleetEvents, fr.events)
	serve(fr, read, rest.ListMachines, fr.list)
	serve(fr, admin, rest.CreateMachine, fr.create)
	serve(fr, read, rest.GetMachine, fr.machine)
	serve(fr, admin, rest.EditMachine, fr.edit)
	serve(fr, admin, rest.RemoveMachine, fr.remove)
	serve(fr, admin, rest.MachineToken, fr.token)
	serve(fr, admin, rest.InstallLink, fr.link)
	stream(fr, admin, rest.MachineInstaller, fr.installer)
	serve(fr, read, rest.MachineHealth, fr.health)
	serve(fr, read, rest.MachineSnapshot, fr.snapshot)
	serve(fr, read, rest.MachineHistory, fr.history)
	serve(fr, read, rest.MachineEvents, fr.machineEvents)
}

func listQuery(q *rest.MachineQuery) (out fleet.ListQuery, err error) {
	if !slices.Contains([]string{"", "online", "off", "reconnecting", "overdue"}, q.Presence) {
		return out, badFleetQuery("presence is online, off, reconnecting or overdue")
	}
	if !slices.Contains([]string{"", "ok", "warn", "crit", "unknown"}, q.Overall) {
		return out, badFleetQuery("overall is ok, warn, crit or unknown")
	}
	return fleet.ListQuery{
		Q: q.Q, Tag: q.Tag, Presence: fleet.Presence(q.Presence), Overall: kenny.Status(q.Overall), Cursor: q.Cursor, Limit: q.Limit,
	}, nil
}

func (fr fleetRoutes) overview(ctx context.Context, who identity.Actor, in *rest.MachineQuery) (rest.Overview, error) {
	q, err := listQuery(in)
	if err != nil {
		return rest.Overview{}, err
	}
	return fr.fleet.Overview(ctx, who, q)
}

func (fr fleetRoutes) trend(ctx context.Context, who identity.Actor, in *rest.TrendQuery) (rest.Trend, error) {
	days, err := strconv.Atoi(cmp.Or(in.Days, "0"))
	switch {
	case err != nil:
		return rest.Trend{}, badFleetQuery("days must be a whole number")
	case in.Days != "" && days == 0:
		return rest.Trend{}, badFleetQuery("days must be from 1 to 90")
	}
	list, err := fr.fleet.Trend(ctx, who, days)
	return rest.Trend{Days: list}, err
}

func viewTool(t kenny.Tool) rest.Tool {
	return rest.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, Class: t.Class, OS: t.On, TimeoutS: int(t.Timeout.Seconds()), Live: t.Live, Schema: t.WireSchema(),
	}
}

func (fr fleetRoutes) tools(context.Context, identity.Actor, *rest.None) (rest.Tools, error) {
	return rest.Tools{Tools: each(fleet.Tools(), viewTool)}, nil
}

func (fr fleetRoutes) list(ctx context.Context, who identity.Actor, in *rest.MachineQuery) (rest.Machines, error) {
	q, err := listQuery(in)
	if err != nil {
		return rest.Machines{}, err
	}
	return fr.fleet.Machines(ctx, who, q)
}

func (fr fleetRoutes) create(ctx context.Context, who identity.Actor, in *rest.NewMachine) (rest.Machine, error) {
	return fr.fleet.Create(ctx, who, in.ID, in.Name, in.Tags)
}

func (fr fleetRoutes) machine(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.Machine, error) {
	return fr.fleet.Machine(ctx, who, in.ID)
}

func (fr fleetRoutes) edit(ctx context.Context, who identity.Actor, in *rest.MachineEdit) (rest.Machine, error) {
	return fr.fleet.Edit(ctx, who, in.ID, fleet.Edit(in.Body))
}

func (fr fleetRoutes) remove(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.Removed, error) {
	return rest.Removed{OK: true, Removed: true}, fr.fleet.Remove(ctx, who, in.ID)
}

func (fr fleetRoutes) token(ctx context.Context, who identity.Actor, in *rest.EnrolRequest) (rest.EnrolToken, error) {
	const most = int64(10 * 365 * 24 * time.Hour / time.Second)
	body := in.Body
	if body.TTLS < 0 || body.TTLS > most || body.GraceS != nil && (*body.GraceS < 0 || *body.GraceS > most) {
		return rest.EnrolToken{}, badFleetQuery("ttl_s and grace_s are seconds, not negative")
	}
	req := fleet.MintRequest{Machine: in.ID, Rekey: body.Rekey, TTL: time.Duration(body.TTLS) * time.Second, Legacy: body.Legacy}
	if body.GraceS != nil {
		grace := time.Duration(*body.GraceS) * time.Second
		req.Grace = &grace
	}
	return fr.fleet.Mint(ctx, who, req)
}

func (fr fleetRoutes) link(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.InstallLines, error) {
	return fr.fleet.InstallLink(ctx, who, in.ID)
}

// installer writes nothing before the first byte of the zip, so that a refusal can
// still be a refusal.
func (fr fleetRoutes) installer(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	out := &lateWriter{w: w, head: func(h http.Header) {
		h.Set("Content-Type", "application/zip")
		h.Set("Content-Disposition", `attachment; filename="parley-endpoint.zip"`)
		h.Set("Cache-Control", "no-store")
	}}
	err := fr.fleet.Installer(r.Context(), who, r.PathValue("id"), r.URL.Query().Get("platform"), out)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler) // cutting it is the only honest way to say so
	}
	return err
}

// lateWriter sets headers when the first byte is written.
type lateWriter struct {
	w     http.ResponseWriter
	head  func(http.Header)
	begun bool
}

// Write implements io.Writer.
func (l *lateWriter) Write(p []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.head(l.w.Header())
	}
	return l.w.Write(p)
}

func (fr fleetRoutes) health(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.HealthReport, error) {
	return fr.fleet.Health(ctx, who, in.ID)
}

func (fr fleetRoutes) snapshot(ctx context.Context, who identity.Actor, in *rest.SnapshotQuery) (rest.Snapshot, error) {
	return fr.fleet.Snapshot(ctx, who, in.ID, in.Section)
}

func (fr fleetRoutes) history(ctx context.Context, who identity.Actor, in *rest.HistoryQuery) (rest.History, error) {
	return fr.fleet.History(ctx, who, in.ID, telemetry.HistoryQuery{
		Section: in.Section, Metric: in.Metric, Label: in.Label, From: in.From, Until: in.Until, Limit: in.Limit,
	})
}

func (fr fleetRoutes) events(ctx context.Context, who identity.Actor, in *rest.FleetEventQuery) (rest.FleetEvents, error) {
	return fr.fleet.Events(ctx, who, telemetry.EventQuery{
		Machine: in.Machine, Source: in.Source, Kind: in.Kind, Level: kenny.Level(in.Level), Since: in.Since, Until: in.Until, Cursor: in.Cursor, Limit: in.Limit,
	})
}

func (fr fleetRoutes) machineEvents(ctx context.Context, who identity.Actor, in *rest.MachineEventQuery) (rest.FleetEvents, error) {
	in.Machine = in.ID
	return fr.events(ctx, who, &in.FleetEventQuery)
}

// stream tells the page what changes, until one of the sides has enough.
func (fr fleetRoutes) stream(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	ctx, done := fr.live.follow(r, who)
	defer done()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &sse{w: w, flush: http.NewResponseController(w)}
	changes := machineChanges(ctx, fr.fleet, who) // before hello, after which a page reads everything
	if err := out.send("hello", map[string]any{}); err != nil {
		return nil
	}
	out.keepAlive(ctx, nil, changes)
	return nil
}

// machineChanges turns the fleet's feed into a channel that ends with ctx.
func machineChanges(ctx context.Context, machines fleet.API, who identity.Actor) <-chan fleet.Change {
	changes := make(chan fleet.Change)
	go func() {
		defer close(changes)
		for c, err := range machines.Watch(ctx, who) {
			if err != nil {
				return
			}
			select {
			case changes <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes
}
