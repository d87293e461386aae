package hub

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"parley.internal"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/docs"
	"parley.internal/internal/face/front"
	"parley.internal/internal/face/sdk"
	faceweb "parley.internal/internal/face/web"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/protocol/rest"
	"parley.internal/web"
)

// routes puts every face on its path.
func (h *Hub) routes() error {
	routes := front.NewRoutes(h.front)
	routes.HandleFunc(front.Route{Pattern: "GET /healthz", Who: front.Stranger}, healthz)
	routes.HandleFunc(front.Route{Pattern: "GET /readyz", Who: front.Stranger}, h.readyz)
	routes.Handle(front.Route{Pattern: "GET /metrics", Who: front.Who(identity.StatusRead)}, h.metrics.Handler())
	pprofRoutes(routes)
	rest := api.New(routes, h.front, h.opts.Version)
	if err := h.apiRoutes(rest); err != nil {
		return err
	}
	err := h.eachPart(func(p part) error {
		if p.routes == nil {
			return nil
		}
		return p.routes(routes, rest)
	})
	if err != nil {
		return err
	}
	files, _ := web.Page()
	page := faceweb.Handler(files, faceweb.Options{HSTS: h.conf.TLS.On() || len(h.conf.BehindProxy) > 0})
	routes.Handle(front.Route{Pattern: "/", Who: front.Stranger, Body: front.Nothing}, page)
	sdk.New(sdk.Options{Files: files, Page: page, Version: h.opts.Version, Websites: h.websites}).Register(routes)
	sdk.NewPackages(parley.SDK, h.opts.Version, besideProgram("sdk")).Register(routes)
	docs.New(parley.Docs, rest.Document).Register(routes)
	proxies := front.Proxies(config.Networks(h.conf.BehindProxy))
	h.routed = routes
	h.gate = newGate()
	h.handler = probes(routes, h.front.Wrap(h.gate.wrap(h.front, proxies.Wrap(h.front, routes))))
	return nil
}

func (h *Hub) apiRoutes(a *api.API) error {
	var err error
	if h.passkeys, err = identity.NewPasskeys(h.people, h.relyingParty()); err != nil {
		return err
	}
	people := api.People{Directory: h.people, Passkeys: h.passkeys, Logins: limit.NewGuesses(identity.LoginLimits), Refused: h.front.Refused}
	api.RegisterSession(a, people)
	api.RegisterTokens(a, people)
	api.RegisterPasskeys(a, people)
	api.RegisterAudit(a, h.auditFace())
	api.RegisterApprovals(a, h.inbox, h.standing, h.files)
	api.RegisterRules(a, h.inbox, h.standing)
	api.RegisterEvents(a, api.Live{Inbox: h.inbox, People: h.people, Fleet: h.fleet, Stopping: h.stopping})
	api.RegisterAgents(a, api.Minds{Agents: h.minds.agents, Models: h.minds.models, Shelf: h.minds.shelf})
	api.RegisterWorkspace(a, h.grants)
	api.RegisterFiles(a, h.files)
	api.RegisterWebsites(a, h.websites)
	api.RegisterStatus(a, h.status)
	api.RegisterCluster(a, h.cluster)
	api.RegisterSpend(a, h.spending)
	api.RegisterBackup(a, h.Backup)
	return nil
}

// besideProgram is a folder that a release has beside the program; nil when nobody
// knows where that is.
func besideProgram(name string) fs.FS {
	path, err := programPath()
	if err != nil {
		return nil
	}
	return os.DirFS(filepath.Join(filepath.Dir(path), name))
}

// programPath is where this program is and not where a link to it is: packages have the
// program with its folders under lib and a link to it under bin.
func programPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// relyingParty is the name people reach the hub by, which passkeys are bound to.
// Browsers refuse them for bare addresses, so a hub without a name is "localhost".
func (h *Hub) relyingParty() identity.RelyingParty {
	rp := identity.RelyingParty{ID: "localhost", Name: "Parley"}
	if _, port, err := net.SplitHostPort(h.conf.Listen); err == nil {
		rp.Origins = append(rp.Origins, "http://localhost:"+port)
	}
	if u, err := url.Parse(h.conf.PublicURL); err == nil && u.Hostname() != "" && net.ParseIP(u.Hostname()) == nil {
		rp.ID, rp.Origins = u.Hostname(), []string{u.Scheme + "://" + u.Host}
	}
	return rp
}

// pprofRoutes are for admins only: a profile tells a lot.
func pprofRoutes(routes *front.Routes) {
	for path, handler := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
	} {
		routes.HandleFunc(front.Route{Pattern: "GET " + path, Who: front.Who(identity.Admin)}, handler)
	}
}

// status is the hub in one look.
func (h *Hub) status(ctx context.Context, who identity.Actor) (rest.Status, error) {
	s := rest.Status{
		Name: "parley", Version: h.opts.Version, HubID: h.leases.ID(), PublicKey: h.PublicKey(), Started: h.started.UTC(),
		UptimeS: int64(time.Since(h.started) / time.Second), Healthy: true, Checks: h.checks(ctx), Counts: map[string]int64{},
		Warnings: []rest.Warning{},
	}
	for _, c := range s.Checks {
		s.Healthy = s.Healthy && c.OK
	}
	active := model.ParseRef(h.minds.models.Active())
	s.Model = rest.ModelInfo{Active: active.String(), Provider: active.Provider}
	if err := h.spend(ctx, &s); err != nil {
		return s, err
	}
	warnings, err := h.auditWarnings(ctx)
	if err != nil {
		return s, err
	}
	s.Warnings = append(s.Warnings, warnings...)
	for _, gap := range h.sandbox.Support().Gaps() {
		s.Warnings = append(s.Warnings, rest.Warning{Code: "box", Text: "the box of programs of agents: " + gap})
	}
	return s, h.count(ctx, who, s.Counts)
}

// spend adds up what all agents cost today.
func (h *Hub) spend(ctx context.Context, s *rest.Status) error {
	today := brain.Day(time.Now())
	for _, a := range h.minds.agents.List() {
		spent, err := h.minds.ledger.Spent(ctx, a.Name, today, today)
		if err != nil {
			return err
		}
		s.SpendTodayUSD += float64(spent.Micros) / 1e6
		if a.Err != nil {
			s.Warnings = append(s.Warnings, rest.Warning{Code: "agent", Text: "the agent " + a.Name + " is broken: " + fit.OneLine(a.Err.Error())})
		}
	}
	s.Counts["agents"] = int64(len(h.minds.agents.List()))
	return nil
}

func (h *Hub) count(ctx context.Context, who identity.Actor, counts map[string]int64) error {
	people, err := h.people.People(ctx)
	if err != nil {
		return err
	}
	devices, err := h.people.Devices(ctx, who)
	if err != nil {
		return err
	}
	tokens, err := h.people.Tokens(ctx, who)
	if err != nil {
		return err
	}
	counts["people"], counts["devices"], counts["tokens"] = int64(len(people)), int64(len(devices)), int64(len(tokens))
	waiting, err := h.inbox.Waiting(ctx, who.Person.ID)
	if err != nil {
		return err
	}
	counts["approvals_pending"] = int64(waiting)
	counts["connections"] = int64(h.people.Tracked())
	return h.countParts(ctx, who, counts)
}
