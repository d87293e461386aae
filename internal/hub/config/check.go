package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/publicnet"
)

// check refuses settings that cannot work, or would be unsafe.
func (c Config) check() error {
	for _, rule := range []func(Config) error{checkListen, checkTLS, checkTalk, checkWords, checkURLs, checkNATS, checkNet, checkTURN, checkBox, checkNotify, checkAudit, checkBackup} {
		if err := rule(c); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

func checkBackup(c Config) error {
	switch b := c.Backup; {
	case b.Folder == "":
		return nil
	case b.Every < time.Minute:
		return fmt.Errorf("backup.every: %s is too often; at least a minute", b.Every)
	case b.Keep < 1:
		return fmt.Errorf("backup.keep: at least one backup has to be kept")
	}
	return nil
}

func checkListen(c Config) error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen: %q is not HOST:PORT", c.Listen)
	}
	if !Loopback(c.Listen) && !c.TLS.On() && len(c.BehindProxy) == 0 {
		return fmt.Errorf("listen: %s is not a loopback address and there is no TLS; give --tls-cert and --tls-key or --acme-domain, or name your TLS proxies with --behind-proxy", c.Listen)
	}
	if c.Auth.Mode == "none" && (!Loopback(c.Listen) || len(c.BehindProxy) > 0) {
		return fmt.Errorf("auth.mode: none works on a loopback listener without a proxy only")
	}
	for _, proxy := range c.BehindProxy {
		if _, err := parseNetwork(proxy); err != nil {
			return fmt.Errorf("behind_proxy: %q is neither an address nor a network such as 10.0.0.0/8", proxy)
		}
	}
	return nil
}

// checkBox refuses hosts that would never match, or match too much.
func checkBox(c Config) error {
	lists := map[string][]string{"box.hosts": c.Box.Hosts}
	for _, s := range c.MCP {
		lists["mcp: hosts of "+s.Name] = s.Hosts
	}
	for key, list := range lists {
		for _, host := range list {
			name := strings.TrimPrefix(host, "*.")
			if name == "" || strings.ContainsAny(name, "*/ @") || strings.Contains(name, "://") || strings.HasPrefix(host, "*.") && !strings.Contains(name, ".") {
				return fmt.Errorf("%s: %q is neither the name of a host nor *. and a domain", key, host)
			}
		}
	}
	for key, n := range map[string]int{
		"box.processes": c.Box.Processes, "box.memory": c.Box.Memory, "box.file_size": c.Box.FileSize, "box.open_files": c.Box.OpenFiles, "box.cpu": c.Box.CPU,
	} {
		if n < 0 {
			return fmt.Errorf("%s: %d is less than nothing", key, n)
		}
	}
	return nil
}

func checkTLS(c Config) error {
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return fmt.Errorf("tls: a certificate needs its key: give both tls.cert and tls.key")
	}
	if c.TLS.Cert != "" && c.TLS.ACMEDomain != "" {
		return fmt.Errorf("tls: either files or acme_domain, not both")
	}
	return nil
}

func checkTalk(c Config) error {
	if c.Talk.TCP != "" && !Loopback(c.Talk.TCP) {
		return fmt.Errorf("talk.tcp: %q is not a loopback address; others use /talk/ws", c.Talk.TCP)
	}
	if c.Talk.TCPOpen && c.Talk.TCP == "" {
		return fmt.Errorf("talk.tcp_open: needs talk.tcp")
	}
	return nil
}

func checkWords(c Config) error {
	for _, w := range []struct {
		key, value string
		allowed    []string
	}{
		{"auth.challenge", c.Auth.Challenge, []string{"auto", "always", "never"}},
		{"auth.mode", c.Auth.Mode, []string{"token", "none"}},
		{"terminal.record", c.Terminal.Record, []string{"none", "agents", "all"}},
		{"place.auth", c.Place.Auth, []string{"", "open", "tofu", "strict"}},
		{"place.static_proof", c.Place.StaticProof, []string{"", "accept", "refuse"}},
		{"place.sync", c.Place.Sync, []string{"full", "os"}},
		{"place.hash_form", c.Place.HashForm, []string{"bare", "prefixed"}},
		{"policy.max_mode", c.Policy.MaxMode, []string{"always_ask", "agent_decides", "always_execute"}},
		{"budget.unattended", c.Budget.Unattended, []string{"ask", "fail"}},
		{"fleet.approval.mcp", c.Fleet.Approval.MCP, []string{"elicit_or_inbox", "inbox", "off"}},
		{"fleet.mcp.require_agent_id", c.Fleet.MCP.RequireAgentID, []string{"never", "mutating", "always"}},
		{"log.level", c.Log.Level, []string{"debug", "info", "warn", "error"}},
		{"log.format", c.Log.Format, []string{"auto", "text", "json"}},
	} {
		if !slices.Contains(w.allowed, w.value) {
			return fmt.Errorf("%s: %q is none of %s", w.key, w.value, strings.Join(w.allowed, ", "))
		}
	}
	return nil
}

func checkURLs(c Config) error {
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("public_url: %q is not http(s)://HOST", c.PublicURL)
		}
	}
	if c.DB != "" && !strings.HasPrefix(c.DB, "postgres://") && !strings.HasPrefix(c.DB, "postgresql://") && !strings.HasPrefix(c.DB, "sqlite:") {
		return fmt.Errorf("db: neither postgres://… nor sqlite:PATH")
	}
	// A password with a slash in it would be taken for a host and be named in errors.
	if u, err := url.Parse(c.DB); strings.HasPrefix(c.DB, "postgres") && (err != nil || strings.Contains(u.EscapedPath()+u.Fragment, "@")) {
		return fmt.Errorf("db: not postgres://USER:PASSWORD@HOST/NAME; special characters of a password are written as %%XX")
	}
	return nil
}

func checkNATS(c Config) error {
	servers := c.Bus()
	switch {
	case c.NATS == "" && servers != (bus.Servers{}):
		return fmt.Errorf("nats_credentials, nats_ca, nats_cert and nats_key need nats")
	case c.NATS == "":
		return nil
	case (c.NATSCert == "") != (c.NATSKey == ""):
		return fmt.Errorf("nats_cert: a certificate needs its key: give both nats_cert and nats_key")
	}
	if err := servers.Check(); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	if c.NATS != "" && (c.DB == "" || strings.HasPrefix(c.DB, "sqlite:")) {
		return fmt.Errorf("nats: several hubs need one PostgreSQL: give --db postgres://… too")
	}
	return nil
}

func checkNet(c Config) error {
	for _, text := range c.Net.AllowPrivate {
		if _, err := parseNetwork(text); err != nil {
			return fmt.Errorf("net.allow_private: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
	}
	return nil
}

func checkTURN(c Config) error {
	t := c.Rooms.TURN
	if t.Listen == "" {
		return nil
	}
	listen, err := netip.ParseAddrPort(t.Listen)
	if err != nil {
		return fmt.Errorf("rooms.turn.listen: %q is not IP:PORT", t.Listen)
	}
	if t.Address == "" && listen.Addr().IsUnspecified() {
		return fmt.Errorf("rooms.turn.address: needed, for rooms.turn.listen names no address that others could reach")
	}
	if a, err := netip.ParseAddr(t.Address); t.Address != "" && (err != nil || a.IsUnspecified()) {
		return fmt.Errorf("rooms.turn.address: %q is not an IP address", t.Address)
	}
	if _, _, err := t.PortRange(); err != nil {
		return err
	}
	for _, text := range t.Peers {
		if _, err := parseNetwork(text); err != nil {
			return fmt.Errorf("rooms.turn.peers: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
	}
	return nil
}

// PortRange reads the ports that are relayed through.
func (t TURN) PortRange() (first, last uint16, err error) {
	from, to, ok := strings.Cut(t.Ports, "-")
	low, err1 := strconv.ParseUint(from, 10, 16)
	high, err2 := strconv.ParseUint(to, 10, 16)
	if !ok || err1 != nil || err2 != nil || low < 1024 || high < low {
		return 0, 0, fmt.Errorf("rooms.turn.ports: %q is not FIRST-LAST, from 1024 on", t.Ports)
	}
	return uint16(low), uint16(high), nil
}

// Networks reads addresses and networks; what is neither has been refused by Load.
func Networks(list []string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range list {
		if p, err := parseNetwork(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

func checkNotify(c Config) error {
	for _, t := range c.Notify {
		if (t.Webhook == "") == (t.Ntfy == "") {
			return fmt.Errorf("notify: each entry has either webhook or ntfy")
		}
		u, err := url.Parse(t.Webhook + t.Ntfy)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("notify: a webhook or ntfy topic is http(s)://HOST/…")
		}
		if _, err := netip.ParseAddr(u.Hostname()); err != nil && (publicnet.Guard{Allow: Networks(c.Net.AllowPrivate)}).CheckHost(u.Hostname()) != nil {
			return fmt.Errorf("notify: %s is a name inside: write its address instead, or list its network in net.allow_private", u.Hostname())
		}
		if t.Ntfy != "" && strings.Trim(u.Path, "/") == "" {
			return fmt.Errorf("notify: the ntfy address must end with a topic")
		}
	}
	return nil
}

func checkAudit(c Config) error {
	for _, path := range c.Audit.WitnessFile {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("audit.witness_file: %q does not begin at the root", path)
		}
	}
	if c.Audit.WitnessURL == "" {
		return nil
	}
	u, err := url.Parse(c.Audit.WitnessURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !Loopback(net.JoinHostPort(u.Hostname(), "1"))) {
		return fmt.Errorf("audit.witness_url: not https://HOST/…")
	}
	return nil
}

// Loopback reports whether a HOST:PORT can only be reached from this machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// SlogLevel is the log level as slog has it.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level))
	return level
}
