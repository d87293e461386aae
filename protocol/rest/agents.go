package rest

import "io"

// Agents, and the models and skills they use.
var (
	ListAgents    = Get[None, Agents]("/api/agents", "List agents")
	GetAgent      = Get[ByName, Agent]("/api/agents/{name}", "One agent, with what its file says; the prompt is for agents:manage")
	CreateAgent   = Post[Agent, Agent]("/api/agents", "Make an agent: the keys of its file, name and prompt").Created()
	UpdateAgent   = Put[AgentChange, Agent]("/api/agents/{name}", "Change the keys that are given; null means the default")
	RemoveAgent   = Delete[ByName, None]("/api/agents/{name}", "Remove an agent; its conversations stay")
	AgentFile     = Get[ByName, None]("/api/agents/{name}/file", "The agent's file as it is").As("text/markdown")
	PutAgentFile  = Put[AgentFileChange, Agent]("/api/agents/{name}/file", "Replace the agent's file, or make it")
	ListSkills    = Get[None, Skills]("/api/skills", "List skills")
	ListModels    = Get[None, Models]("/api/models", "List models")
	ListProviders = Get[None, Providers]("/api/providers", "List model providers, without their keys")
	ListSpend     = Get[None, Spend]("/api/spend", "What each agent used today and this month")
)

// Agent is an agent as an object: name, the keys of its file, prompt and error.
type Agent map[string]any

// Text is a key's value if it is text.
func (a Agent) Text(key string) string {
	s, _ := a[key].(string)
	return s
}

// Agents is a list of them.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// AgentChange changes the keys that are given.
type AgentChange struct {
	Name string `path:"name"`
	Body Agent
}

// AgentFileChange replaces an agent's file.
type AgentFileChange struct {
	Name string    `path:"name"`
	Body io.Reader `contentType:"text/markdown"`
}

// Skill is something an agent can be told to do by name.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Enabled     bool   `json:"enabled"`
	Source      string `json:"source"`
	Error       string `json:"error,omitempty"`
}

// Skills is a list of them.
type Skills struct {
	Skills []Skill `json:"skills"`
}

// Model is a model the hub can use.
type Model struct {
	Ref      string `json:"ref" doc:"how an agent's file names it"`
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Active   bool   `json:"active"`
	Enabled  bool   `json:"enabled"`
}

// Models is a list of them, and which one is the default.
type Models struct {
	Active string  `json:"active"`
	Models []Model `json:"models"`
}

// Provider is where models come from.
type Provider struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Active  bool   `json:"active"`
	Enabled bool   `json:"enabled"`
	Fixed   bool   `json:"fixed" doc:"built in, or from the environment"`
	BaseURL string `json:"base_url,omitempty"`
	Model   string `json:"model,omitempty"`
	HasKey  bool   `json:"has_key"`
}

// Providers is a list of them.
type Providers struct {
	Providers []Provider `json:"providers"`
}

// AgentSpend is what one agent used; money is in US dollars.
type AgentSpend struct {
	Agent       string  `json:"agent"`
	TodayUSD    float64 `json:"today_usd"`
	TodayTokens int64   `json:"today_tokens"`
	MonthUSD    float64 `json:"month_usd"`
	MonthTokens int64   `json:"month_tokens"`
}

// Spend is what each agent used.
type Spend struct {
	Agents []AgentSpend `json:"agents"`
}
