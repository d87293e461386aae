package kenny

import (
	"crypto/ed25519"
	"testing"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	if _, err := New(config(tools{})); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no handler":     func(c *Config) { c.Handler = nil },
		"no key":         func(c *Config) { c.Key = nil },
		"no pin":         func(c *Config) { c.ServerKeys = nil },
		"three pins":     func(c *Config) { c.ServerKeys = []ed25519.PublicKey{public(hubKey), public(hubKey), public(hubKey)} },
		"bad pin":        func(c *Config) { c.ServerKeys = []ed25519.PublicKey{make([]byte, 32)} },
		"own key as pin": func(c *Config) { c.ServerKeys = []ed25519.PublicKey{public(machineKey)} },
		"bad id":         func(c *Config) { c.AgentID = "no good" },
		"bad system":     func(c *Config) { c.Meta.OS = "plan9" },
		"bad address":    func(c *Config) { c.URL = "ftp://x" },
		"plain text":     func(c *Config) { c.URL = "http://hub.example.com" },
	} {
		cfg := config(tools{})
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestHubAddressesInEverySpelling(t *testing.T) {
	for _, c := range []struct {
		in       string
		insecure bool
		want     string
	}{
		{"https://hub.example.com", false, "wss://hub.example.com/agent/ws"},
		{"https://hub.example.com/", false, "wss://hub.example.com/agent/ws"},
		{"wss://hub.example.com/agent/ws", false, "wss://hub.example.com/agent/ws"},
		{"wss://hub.example.com/agent/ws/", false, "wss://hub.example.com/agent/ws"},
		{"https://hub.example.com:8443/fleet", false, "wss://hub.example.com:8443/fleet/agent/ws"},
		{"http://localhost:7788", false, "ws://localhost:7788/agent/ws"},
		{"ws://127.0.0.1:7788/agent/ws", false, "ws://127.0.0.1:7788/agent/ws"},
		{"http://[::1]:7788", false, "ws://[::1]:7788/agent/ws"},
		{"http://10.0.0.5", false, ""},
		{"http://10.0.0.5", true, "ws://10.0.0.5/agent/ws"},
		{"http://localhost.evil.example", false, ""},
		{"hub.example.com", false, ""},
		{"", false, ""},
		{"ftp://x", false, ""},
		{"https://", false, ""},
		{"https://user:pw@hub.example.com", false, ""},
		{"https://hub.example.com/?token=x", false, ""},
		{"https://hub.example.com/#x", false, ""},
	} {
		got, err := TunnelURL(c.in, c.insecure)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.in, got, err)
		}
	}
	got, err := EnrollURL("wss://hub.example.com/agent/ws", "a.b", false)
	if err != nil || got != "https://hub.example.com/api/agents/a.b/enroll" {
		t.Error(got, err)
	}
	if _, err := EnrollURL("https://hub.example.com", "../x", false); err == nil {
		t.Error("an id that is a path was accepted")
	}
}

func FuzzTunnelURL(f *testing.F) {
	f.Add("https://hub.example.com/agent/ws")
	f.Add("http://[::1%25eth0]:80/%2fagent/ws")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := TunnelURL(s, false)
		if err != nil {
			return
		}
		if again, err := TunnelURL(u, false); err != nil || again != u {
			t.Errorf("%q gives %q, which gives %q, %v", s, u, again, err)
		}
	})
}
