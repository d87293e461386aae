package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/face/front"
	"parley/internal/fit"
	"parley/internal/fleet"
	"parley/internal/fleet/fault"
	"parley/internal/fleet/telemetry"
	"parley/internal/fleet/update"
	"parley/internal/identity"
	"parley/protocol/kenny"
	"parley/protocol/kenny/health"
)

// RegisterFleet adds machines: how they are, what is done on them, who they are.
// Answers carry machines' own objects, which have no fixed shape, so the routes
// read and write JSON themselves.
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

// fleetHandler answers a request with a status and a value.
type fleetHandler func(r *http.Request, who identity.Actor) (status int, v any, err error)

// json adds a route that answers with a JSON value.
func (fr fleetRoutes) json(method, path, scope, summary string, handle fleetHandler) {
	fr.raw(method, path, scope, summary, "application/json", func(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
		status, v, err := handle(r, who)
		if err != nil {
			return err
		}
		data, err := jsonx.Marshal(v)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(append(data, '\n')) // the client left
		return nil
	})
}

func (fr fleetRoutes) raw(method, path, scope, summary, contentType string, handle func(http.ResponseWriter, *http.Request, identity.Actor) error) {
	rt := rawRoute{route{Method: method, Path: path, Scope: scope, Tag: "machines", Summary: summary}, contentType}
	if method == http.MethodPost && path == "/api/fleet/binaries" {
		rt.MaxBody = update.MaxBinary + 1 // one more, so that the fleet itself says that it is too large
	}
	addRaw(fr.api, rt, func(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
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
func readFleetBody(r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
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

// number reads an integer of the query; 0 when it is not there.
func number(r *http.Request, name string) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, badFleetQuery(name + " must be a whole number")
	}
	return n, nil
}

// moment reads a time of the query; zero when it is not there.
func moment(r *http.Request, name string) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, badFleetQuery(name + " must be an RFC 3339 time")
	}
	return t, nil
}

func (fr fleetRoutes) machineRoutes() {
	const read, admin = identity.FleetRead, identity.FleetAdmin
	fr.json("GET", "/api/fleet", read, "The fleet, worst machines first; query: q, tag, presence, overall, limit, cursor", fr.overview)
	fr.json("GET", "/api/fleet/trend", read, "How machines were at their worst, day by day; query: days (1-90)", fr.trend)
	fr.raw("GET", "/api/fleet/stream", read, "What changes, live (server-sent events: machine, call, event, removed)", "text/event-stream", fr.stream)
	fr.json("GET", "/api/fleet/tools", read, "What can be done on machines: schemas, classes, systems", fr.tools)
	fr.json("GET", "/api/fleet/events", read, "What happened; query: machine, source, kind, level, since, until, limit, cursor", fr.events)
	fr.json("GET", "/api/machines", read, "List machines by id; query: q, tag, presence, overall, limit, cursor", fr.list)
	fr.json("POST", "/api/machines", admin, "Make a machine known: {agent_id, name?, tags?}", fr.create)
	fr.json("GET", "/api/machines/{id}", read, "One machine", fr.machine)
	fr.json("PATCH", "/api/machines/{id}", admin, "Change name, tags, mobile, thresholds, maintenance, mutes", fr.edit)
	fr.json("DELETE", "/api/machines/{id}", admin, "Remove a machine: its key is revoked, its connection ends", fr.remove)
	fr.json("POST", "/api/machines/{id}/token", admin, "A one-time enrolment token: {rekey?, grace_s?, ttl_s?, legacy?}", fr.token)
	fr.json("POST", "/api/machines/{id}/install-link", admin, "One-liners that install the endpoint, once", fr.link)
	fr.raw("GET", "/api/machines/{id}/installer.zip", admin, "Program, script and a fresh token; query: platform", "application/zip", fr.installer)
	fr.json("GET", "/api/machines/{id}/health", read, "How a machine is, section by section", fr.health)
	fr.json("GET", "/api/machines/{id}/snapshot", read, "The newest telemetry; query: section", fr.snapshot)
	fr.json("GET", "/api/machines/{id}/history", read, "A machine's past; query: section, metric, label, from, to, limit", fr.history)
	fr.json("GET", "/api/machines/{id}/events", read, "What happened around a machine", fr.events)
}

func listQuery(r *http.Request) (fleet.ListQuery, error) {
	q := r.URL.Query()
	limit, err := number(r, "limit")
	if err == nil && !slices.Contains([]string{"", "online", "off", "reconnecting", "overdue"}, q.Get("presence")) {
		err = badFleetQuery("presence is online, off, reconnecting or overdue")
	}
	if err == nil && !slices.Contains([]string{"", "ok", "warn", "crit", "unknown"}, q.Get("overall")) {
		err = badFleetQuery("overall is ok, warn, crit or unknown")
	}
	return fleet.ListQuery{
		Q: q.Get("q"), Tag: q.Get("tag"), Presence: fleet.Presence(q.Get("presence")), Overall: kenny.Status(q.Get("overall")),
		Cursor: q.Get("cursor"), Limit: limit,
	}, err
}

func (fr fleetRoutes) overview(r *http.Request, who identity.Actor) (int, any, error) {
	q, err := listQuery(r)
	if err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.Overview(r.Context(), who, q)
	return http.StatusOK, v, err
}

func (fr fleetRoutes) trend(r *http.Request, who identity.Actor) (int, any, error) {
	days, err := number(r, "days")
	if err != nil {
		return 0, nil, err
	}
	if r.URL.Query().Has("days") && days == 0 {
		return 0, nil, badFleetQuery("days must be from 1 to 90")
	}
	list, err := fr.fleet.Trend(r.Context(), who, days)
	return http.StatusOK, map[string]any{"days": list}, err
}

// toolView is a tool of the catalogue as forms need it.
type toolView struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Class       kenny.Class    `json:"class"`
	OS          []kenny.OS     `json:"os"`
	TimeoutS    int            `json:"timeout_s"`
	Live        bool           `json:"live,omitzero"`
	Schema      jsontext.Value `json:"schema"`
}

func (fr fleetRoutes) tools(*http.Request, identity.Actor) (int, any, error) {
	views := []toolView{}
	for _, t := range fleet.Tools() {
		views = append(views, toolView{
			Name: t.Name, Title: t.Title, Description: t.Description, Class: t.Class, OS: t.On, TimeoutS: int(t.Timeout.Seconds()), Live: t.Live, Schema: t.WireSchema(),
		})
	}
	return http.StatusOK, map[string]any{"tools": views}, nil
}

func (fr fleetRoutes) list(r *http.Request, who identity.Actor) (int, any, error) {
	q, err := listQuery(r)
	if err != nil {
		return 0, nil, err
	}
	p, err := fr.fleet.Machines(r.Context(), who, q)
	v := map[string]any{"machines": p.Machines}
	if p.Next != "" {
		v["next_cursor"] = p.Next
	}
	return http.StatusOK, v, err
}

func (fr fleetRoutes) create(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		ID   string   `json:"agent_id"`
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	m, err := fr.fleet.Create(r.Context(), who, body.ID, body.Name, body.Tags)
	return http.StatusCreated, m, err
}

func (fr fleetRoutes) machine(r *http.Request, who identity.Actor) (int, any, error) {
	m, err := fr.fleet.Machine(r.Context(), who, r.PathValue("id"))
	return http.StatusOK, m, err
}

func (fr fleetRoutes) edit(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		Name        *string                 `json:"name"`
		Tags        *[]string               `json:"tags"`
		Mobile      *bool                   `json:"mobile"`
		Thresholds  *fleet.Thresholds       `json:"thresholds"`
		Maintenance *fleet.Window           `json:"maintenance"`
		Mutes       *map[string]health.Mute `json:"mutes"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	m, err := fr.fleet.Edit(r.Context(), who, r.PathValue("id"), fleet.Edit{
		Name: body.Name, Tags: body.Tags, Mobile: body.Mobile, Thresholds: body.Thresholds, Maintenance: body.Maintenance, Mutes: body.Mutes,
	})
	return http.StatusOK, m, err
}

func (fr fleetRoutes) remove(r *http.Request, who identity.Actor) (int, any, error) {
	err := fr.fleet.Remove(r.Context(), who, r.PathValue("id"))
	return http.StatusOK, map[string]any{"ok": true, "removed": true}, err
}

func (fr fleetRoutes) token(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		Rekey  bool   `json:"rekey"`
		GraceS *int64 `json:"grace_s"`
		TTLS   int64  `json:"ttl_s"`
		Legacy bool   `json:"legacy"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	const most = int64(10 * 365 * 24 * time.Hour / time.Second)
	if body.TTLS < 0 || body.TTLS > most || body.GraceS != nil && (*body.GraceS < 0 || *body.GraceS > most) {
		return 0, nil, badFleetQuery("ttl_s and grace_s are seconds, not negative")
	}
	req := fleet.MintRequest{Machine: r.PathValue("id"), Rekey: body.Rekey, TTL: time.Duration(body.TTLS) * time.Second, Legacy: body.Legacy}
	if body.GraceS != nil {
		grace := time.Duration(*body.GraceS) * time.Second
		req.Grace = &grace
	}
	minted, err := fr.fleet.Mint(r.Context(), who, req)
	return http.StatusOK, minted, err
}

func (fr fleetRoutes) link(r *http.Request, who identity.Actor) (int, any, error) {
	lines, err := fr.fleet.InstallLink(r.Context(), who, r.PathValue("id"))
	return http.StatusOK, lines, err
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

func (fr fleetRoutes) health(r *http.Request, who identity.Actor) (int, any, error) {
	v, err := fr.fleet.Health(r.Context(), who, r.PathValue("id"))
	return http.StatusOK, v, err
}

func (fr fleetRoutes) snapshot(r *http.Request, who identity.Actor) (int, any, error) {
	v, err := fr.fleet.Snapshot(r.Context(), who, r.PathValue("id"), r.URL.Query().Get("section"))
	if v.Sections == nil && err == nil {
		// No telemetry yet is null, which an empty object is not.
		return http.StatusOK, map[string]any{"agent_id": v.ID, "snapshot": nil}, nil
	}
	return http.StatusOK, v, err
}

func (fr fleetRoutes) history(r *http.Request, who identity.Actor) (int, any, error) {
	q := r.URL.Query()
	from, err := moment(r, "from")
	if err != nil {
		return 0, nil, err
	}
	until, err := moment(r, "to")
	if err != nil {
		return 0, nil, err
	}
	limit, err := number(r, "limit")
	if err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.History(r.Context(), who, r.PathValue("id"), telemetry.HistoryQuery{
		Section: q.Get("section"), Metric: q.Get("metric"), Label: q.Get("label"), From: from, Until: until, Limit: limit,
	})
	return http.StatusOK, v, err
}

func (fr fleetRoutes) events(r *http.Request, who identity.Actor) (int, any, error) {
	q := r.URL.Query()
	since, err := moment(r, "since")
	if err != nil {
		return 0, nil, err
	}
	until, err := moment(r, "until")
	if err != nil {
		return 0, nil, err
	}
	limit, err := number(r, "limit")
	if err != nil {
		return 0, nil, err
	}
	machine := r.PathValue("id")
	if machine == "" {
		machine = q.Get("machine")
	}
	v, err := fr.fleet.Events(r.Context(), who, telemetry.EventQuery{
		Machine: machine, Source: q.Get("source"), Kind: q.Get("kind"), Level: kenny.Level(q.Get("level")), Since: since, Until: until,
		Cursor: q.Get("cursor"), Limit: limit,
	})
	return http.StatusOK, v, err
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
