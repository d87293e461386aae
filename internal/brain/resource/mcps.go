package resource

import (
	"fmt"
	"maps"
	"slices"

	"parley.internal/internal/brain/mcpclient"
)

// masked is what secrets are shown as; sent back, it means the old value.
const masked = "***"

// storedMCP is a server in the file.
type storedMCP struct {
	Name    string            `yaml:"name"`
	Command string            `yaml:"command,omitempty"`
	Args    []string          `yaml:"args,omitempty"`
	Env     map[string]string `yaml:"env,omitempty"`
	URL     string            `yaml:"url,omitempty"`
	Bearer  string            `yaml:"token,omitempty"`
}

func (m storedMCP) server() mcpclient.Server {
	return mcpclient.Server{Name: m.Name, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Bearer: m.Bearer}
}

// MCP is a server as people see it: secrets are masked.
type MCP struct {
	mcpclient.Server
	// Local servers were added here; the others are in the hub's settings.
	Local  bool
	Status mcpclient.Status
}

// servers is the whole list a state makes: the settings' first.
func (s *Shelf) servers(st state) []mcpclient.Server {
	list := slices.Clone(s.o.Configured)
	for _, m := range st.MCPs {
		list = append(list, m.server())
	}
	for i := range list {
		list[i].Disabled = list[i].Disabled || slices.Contains(st.MCPsOff, list[i].Name)
	}
	return list
}

// MCPs lists all servers with how they are.
func (s *Shelf) MCPs() []MCP {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := map[string]mcpclient.Status{}
	for _, st := range s.o.Pool.Status() {
		status[st.Name] = st
	}
	var out []MCP
	for i, server := range s.servers(s.state) {
		out = append(out, MCP{Server: server.Redacted(), Local: i >= len(s.o.Configured), Status: status[server.Name]})
	}
	return out
}

// SetMCPs replaces the servers that were added here. A masked value stands for
// the one the server of that name has, as long as it would go to the same place.
func (s *Shelf) SetMCPs(list []mcpclient.Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.state
	next.MCPs = nil
	for _, server := range list {
		if slices.ContainsFunc(s.o.Configured, func(c mcpclient.Server) bool { return c.Name == server.Name }) {
			return fmt.Errorf("%w: %s", ErrConfigured, server.Name)
		}
		next.MCPs = append(next.MCPs, s.unmasked(server))
		next.MCPsOff = switched(next.MCPsOff, server.Name, !server.Disabled)
	}
	return s.apply(next)
}

// unmasked gives a server its old secrets where it was sent as it was shown.
func (s *Shelf) unmasked(server mcpclient.Server) storedMCP {
	m := storedMCP{
		Name: server.Name, Command: server.Command, Args: server.Args, Env: maps.Clone(server.Env), URL: server.URL, Bearer: server.Bearer,
	}
	for _, old := range s.state.MCPs {
		if old.Name != m.Name || old.Command != m.Command || old.URL != m.URL {
			continue
		}
		for key, value := range m.Env {
			if before, had := old.Env[key]; had && value == masked {
				m.Env[key] = before
			}
		}
		if m.Bearer == masked {
			m.Bearer = old.Bearer
		}
	}
	return m
}

// EnableMCP switches a server on or off.
func (s *Shelf) EnableMCP(name string, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.servers(s.state), func(m mcpclient.Server) bool { return m.Name == name }) {
		return fmt.Errorf("%w: %q", ErrNoMCP, name)
	}
	next := s.state
	next.MCPsOff = switched(next.MCPsOff, name, on)
	return s.apply(next)
}

// apply gives the pool the list of a new state and keeps that. A list the pool
// refuses changes nothing. The lock is held.
func (s *Shelf) apply(next state) error {
	if err := s.o.Pool.Set(s.servers(next)); err != nil {
		return err
	}
	if err := s.commit(next); err != nil {
		if back := s.o.Pool.Set(s.servers(s.state)); back != nil {
			s.o.Log.Error("cannot go back to the former MCP servers", "error", back)
		}
		return err
	}
	return nil
}
