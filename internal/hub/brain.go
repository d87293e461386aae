package hub

import (
	"context"
	"os"
	"slices"
	"strings"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/anthropic"
	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/mcpclient"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/openai"
	"parley.internal/internal/brain/resource"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/foreign"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/store"
	"parley.internal/internal/talk"
)

// minds is everything an agent thinks with.
type minds struct {
	agents  *brain.Library
	models  *brain.Catalogue
	ledger  *brain.StoreLedger
	mcp     *mcpclient.Pool
	shelf   *resource.Shelf
	foreign *foreign.Agents
	policy  *builtin.Policy
	tools   []*tool.Tool
	groups  map[string][]string
}

// policyOptions leaves the usual list of harmless commands alone unless another
// is given.
func (h *Hub) policyOptions() builtin.PolicyOptions {
	o := builtin.PolicyOptions{Deny: h.conf.Policy.Deny, Boxed: h.sandbox.Boxed(), Roots: h.conf.Box.Write, Grantable: h.sandbox.Grantable}
	if allow := h.conf.Policy.Allow; len(allow) > 0 {
		o.Allow = allow
	}
	return o
}

// factories make providers by kind; servers that speak OpenAI's protocol share one.
var factories = brain.Factories{
	brain.KindAnthropic: func(c brain.ProviderConfig) (model.Provider, error) {
		return anthropic.New(anthropic.Options{Name: c.Name, Key: c.APIKey, BaseURL: c.BaseURL})
	},
	brain.KindOpenAI: openaiProvider, brain.KindOllama: openaiProvider, brain.KindLlamaCPP: openaiProvider,
}

func openaiProvider(c brain.ProviderConfig) (model.Provider, error) {
	return openai.New(openai.Options{
		Name: c.Name, Key: c.APIKey, BaseURL: c.BaseURL, SystemFirst: c.SystemFirst, SendReasoning: c.SendReasoning,
	})
}

func (h *Hub) openBrain(ctx context.Context) (err error) {
	if err := h.openFiles(ctx); err != nil {
		return err
	}
	if err := h.openSpaces(ctx); err != nil {
		return err
	}
	m := &minds{ledger: brain.NewStoreLedger(h.db), groups: toolGroups()}
	if m.agents, err = h.openAgents(); err != nil {
		return err
	}
	if err := m.agents.EnsureDefaults(ctx); err != nil {
		return err
	}
	m.models, err = brain.OpenCatalogue(brain.CatalogueOptions{Dir: h.conf.Data, Getenv: h.getenv, Factories: factories, Mask: h.mask})
	if err != nil {
		return err
	}
	m.agents.Require(m.models.Payable)
	m.agents.Remains(h.hasPlaceKey)
	if m.policy, err = builtin.NewPolicy(h.policyOptions()); err != nil {
		return err
	}
	m.tools = builtin.Tools(builtin.Config{Policy: m.policy, Sandbox: h.sandbox, Roots: h.conf.Box.Write, Granted: h.grants.For, Guard: h.guard, Hosts: h.conf.Box.Hosts, Mask: h.mask})
	m.foreign = foreign.New(foreign.Options{
		Dir: h.folder.Path(foreignFolder), Sandbox: h.sandbox, Guard: h.guard, Hosts: h.conf.Box.Hosts, Roots: h.conf.Box.Write, Granted: h.grants.For, Mask: h.mask, Log: h.logger,
	})
	m.mcp = mcpclient.New(mcpclient.Options{Log: h.logger, Sandbox: h.sandbox, Guard: h.guard, Hosts: h.conf.Box.Hosts})
	h.onClose(func() error { m.mcp.Close(); return nil })
	h.minds = m
	h.thinking.Store(m)
	m.shelf, err = resource.Open(resource.Options{Dir: h.conf.Data, Pool: m.mcp, Configured: mcpServers(h.conf.MCP), Log: h.logger})
	if err != nil {
		return err
	}
	if !h.opts.Quiet {
		watching, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); m.agents.Watch(watching) }()
		h.onClose(func() error { stop(); <-done; return nil })
	}
	return nil
}

// openAgents opens the agents: in the store where several hubs may share it, else
// in the data folder.
func (h *Hub) openAgents() (*brain.Library, error) {
	dir := h.folder.Path(agentsFolder)
	if h.db.Dialect() == store.Postgres {
		return brain.OpenSharedLibrary(dir, h.db, h.bus, h.logger)
	}
	return brain.OpenLibrary(dir, h.logger)
}

// getenv lets the model setting stand for the variable it is read from.
func (h *Hub) getenv(name string) string {
	if name == "PARLEY_MODEL" && h.conf.Model != "" {
		return h.conf.Model
	}
	return os.Getenv(name)
}

func mcpServers(list []config.MCPServer) []mcpclient.Server {
	servers := make([]mcpclient.Server, len(list))
	for i, s := range list {
		servers[i] = mcpclient.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Hosts: s.Hosts, URL: s.URL, Bearer: s.Token, Trusted: s.Trusted}
	}
	return servers
}

// toolGroups are the names an agent's file may use for several built-in tools.
func toolGroups() map[string][]string {
	return map[string][]string{
		"files": {"file_read", "file_list", "file_search", "file_write", "file_edit"},
		"shell": {"shell"},
		"web":   {"web_fetch"},
	}
}

// offer lets agents use a part's tools, one by one or by the group's name. Parts
// do so while they open; nothing runs yet.
func (m *minds) offer(group string, tools ...*tool.Tool) {
	m.tools = append(m.tools, tools...)
	for _, t := range tools {
		m.groups[group] = append(m.groups[group], t.Name)
	}
}

// toolsForTurn gives a turn its tools.
func (m *minds) toolsForTurn(ctx context.Context, s talk.ToolScope) ([]*tool.Tool, error) {
	if names := m.mcp.Awaited(s.Agent.MCPs); len(names) > 0 && !s.Guest && s.Tell != nil {
		s.Tell("waiting for the tool server " + strings.Join(names, ", "))
	}
	return m.toolsFor(ctx, s.Agent, s.Names, s.Workspace, s.Guest)
}

// toolsFor gives a run the built-in tools its agent lists and those of its MCP
// servers, which work where the run does; a guest has no servers.
func (m *minds) toolsFor(ctx context.Context, agent *brain.Agent, listed []string, folder string, guest bool) ([]*tool.Tool, error) {
	var names []string
	for _, name := range listed {
		if group, ok := m.groups[name]; ok {
			names = append(names, group...)
			continue
		}
		names = append(names, name)
	}
	var tools []*tool.Tool
	for _, t := range m.tools {
		if slices.Contains(names, t.Name) {
			tools = append(tools, t)
		}
	}
	if guest || len(agent.MCPs) == 0 {
		return tools, nil
	}
	more, err := m.mcp.Tools(ctx, mcpclient.User{Agent: agent.Name, Workspace: folder}, agent.MCPs)
	return append(tools, more...), err
}

// List and Get make minds the library of skills for conversations.
func (m *minds) List() []talk.Skill {
	all := m.shelf.Usable()
	list := make([]talk.Skill, len(all))
	for i, s := range all {
		list[i] = talk.Skill{Name: s.Name, Description: s.Description, Agents: s.Agents}
	}
	return list
}

// Get reads one skill.
func (m *minds) Get(name string) (talk.Skill, bool) {
	for _, s := range m.shelf.Usable() {
		if s.Name == name {
			return talk.Skill{Name: s.Name, Description: s.Description, Body: s.Body, AllowedTools: s.AllowedTools, Agents: s.Agents}, true
		}
	}
	return talk.Skill{}, false
}
