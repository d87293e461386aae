package hub

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/rest"
)

// cluster is all hubs on this database, and what they share.
func (h *Hub) cluster(ctx context.Context) (rest.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	alone := h.db.Dialect() == store.SQLite
	c := rest.Cluster{
		Alone: alone, Hubs: []rest.Member{},
		Database: engine("postgres", h.db.String(), h.db.Ping(ctx)),
		Bus:      engine("nats", h.conf.Bus().Hosts(), h.bus.Healthy()),
		Door:     h.door(),
	}
	if alone {
		c.Database.Kind = "sqlite"
	}
	if h.conf.NATS == "" {
		c.Bus.Kind, c.Bus.Where = "local", "inside this process"
	}
	members, err := h.leases.Members(ctx)
	for _, m := range members {
		c.Hubs = append(c.Hubs, h.member(m))
	}
	return c, err
}

// member counts things by the words people know. A hub that is alone takes no
// lease for a machine, so it counts those connected.
func (h *Hub) member(m lease.Member) rest.Member {
	here := m.ID == h.leases.ID()
	holds := map[string]int64{"conversations": 0, "tasks": 0, "rooms": 0, "machines": 0, "duties": 0}
	words := map[string]string{"talk": "conversations", "task": "tasks", "room": "rooms", "machine": "machines"}
	for family, n := range m.Holds {
		word, known := words[family]
		if !known {
			word = "duties"
		}
		holds[word] += n
	}
	if here && h.db.Dialect() == store.SQLite {
		holds["machines"] = int64(h.fleet.Presences()[fleet.Online])
	}
	return rest.Member{ID: m.ID, Here: here, Alive: m.Alive, Started: m.Started.UTC(), SilentAfter: m.Expires.UTC(), Holds: holds}
}

func engine(kind, where string, err error) rest.Engine {
	e := rest.Engine{Kind: kind, Where: where, OK: err == nil}
	if err != nil {
		e.Detail = fit.OneLine(err.Error())
	}
	return e
}

// door says how clients come in; the verdict is what 'parley doctor' finds.
func (h *Hub) door() rest.Door {
	f := examineTLS(context.Background(), h.conf)
	d := rest.Door{Listen: h.conf.Listen, URL: h.url(), TLS: "none", Verdict: string(f.State), Found: f.Found, Advice: f.Advice}
	switch t := h.conf.TLS; {
	case t.ACMEDomain != "":
		d.TLS, d.Certificate = "acme", certificate(acmeFile(h.folder, t))
		if d.Certificate != nil {
			d.Verdict, d.Advice = string(Good), ""
		}
	case t.Cert != "":
		d.TLS, d.Certificate = "files", certificate(t.Cert)
	case len(h.conf.BehindProxy) > 0:
		d.TLS = "proxy"
	}
	return d
}

// acmeFile finds where the certificate of the domain is kept, whoever issued it.
func acmeFile(f Folder, t config.TLS) string {
	found, _ := filepath.Glob(filepath.Join(f.Path("acme"), "certificates", "*", t.ACMEDomain, t.ACMEDomain+".crt"))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// certificate is nil for a file that has none: the verdict says so.
func certificate(file string) *rest.Certificate {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	names := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return &rest.Certificate{Names: names, Issuer: leaf.Issuer.String(), NotAfter: leaf.NotAfter.UTC()}
}

// spending is what every agent used today and this month.
func (h *Hub) spending(ctx context.Context) ([]rest.AgentSpend, error) {
	now := time.Now()
	today := brain.Day(now)
	out := []rest.AgentSpend{}
	for _, a := range h.minds.agents.List() {
		day, err := h.minds.ledger.Spent(ctx, a.Name, today, today)
		if err != nil {
			return nil, err
		}
		month, err := h.minds.ledger.Spent(ctx, a.Name, brain.MonthStart(now), today)
		if err != nil {
			return nil, err
		}
		out = append(out, rest.AgentSpend{
			Agent: a.Name, TodayUSD: float64(day.Micros) / 1e6, TodayTokens: day.Tokens,
			MonthUSD: float64(month.Micros) / 1e6, MonthTokens: month.Tokens,
		})
	}
	return out, nil
}
