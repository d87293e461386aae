package api

import (
	"context"
	"time"

	"parley/internal/identity"
)

// Cluster is who runs this hub's things: one hub, or several on one database.
type Cluster struct {
	// Alone says that no second hub can join: the database is a file of this one.
	Alone    bool     `json:"alone"`
	Hubs     []Member `json:"hubs"`
	Database Engine   `json:"database"`
	Bus      Engine   `json:"bus"`
	Door     Door     `json:"door"`
}

// Member is one hub and how many things it holds, by their kind. Others count on
// it until SilentAfter unless it renews that in time, which a living hub does.
type Member struct {
	ID          string           `json:"id"`
	Here        bool             `json:"here" doc:"the hub that answered"`
	Alive       bool             `json:"alive"`
	Started     time.Time        `json:"started_at"`
	SilentAfter time.Time        `json:"silent_after"`
	Holds       map[string]int64 `json:"holds" doc:"conversations, tasks, rooms, machines, duties"`
}

// Engine is something every hub of a cluster shares.
type Engine struct {
	Kind   string `json:"kind" doc:"sqlite, postgres, local or nats"`
	Where  string `json:"where"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

// Door is where clients come in, and who encrypts.
type Door struct {
	Listen string `json:"listen"`
	URL    string `json:"url"`
	// TLS is none, files, acme or proxy.
	TLS         string       `json:"tls"`
	Certificate *Certificate `json:"certificate,omitempty"`
	Verdict     string       `json:"verdict" enum:"good,note,bad"`
	Found       string       `json:"found"`
	Advice      string       `json:"advice,omitempty"`
}

// Certificate is the one in use, as far as the hub can see it.
type Certificate struct {
	Names    []string  `json:"names"`
	Issuer   string    `json:"issuer"`
	NotAfter time.Time `json:"not_after"`
}

type clusterAnswer struct{ Body Cluster }

// RegisterCluster adds the look at all hubs; gather makes it.
func RegisterCluster(a *API, gather func(ctx context.Context) (Cluster, error)) {
	add(a, route{Method: "GET", Path: "/api/cluster", Scope: identity.Admin, Tag: "hub", Summary: "Which hubs run, what each holds, what they share"},
		func(ctx context.Context, _ identity.Actor, _ *struct{}) (*clusterAnswer, error) {
			c, err := gather(ctx)
			return &clusterAnswer{c}, err
		})
}

// AgentSpend is what one agent used; money is in US dollars.
type AgentSpend struct {
	Agent       string  `json:"agent"`
	TodayUSD    float64 `json:"today_usd"`
	TodayTokens int64   `json:"today_tokens"`
	MonthUSD    float64 `json:"month_usd"`
	MonthTokens int64   `json:"month_tokens"`
}

type spendAnswer struct {
	Body struct {
		Agents []AgentSpend `json:"agents"`
	}
}

// RegisterSpend adds what agents used today and this month; gather makes it.
// Their limits are a part of /api/agents.
func RegisterSpend(a *API, gather func(ctx context.Context) ([]AgentSpend, error)) {
	add(a, route{Method: "GET", Path: "/api/spend", Scope: identity.AgentsManage, Tag: "agents", Summary: "What each agent used today and this month"},
		func(ctx context.Context, _ identity.Actor, _ *struct{}) (*spendAnswer, error) {
			list, err := gather(ctx)
			out := &spendAnswer{}
			out.Body.Agents = list
			return out, err
		})
}
