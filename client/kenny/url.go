package kenny

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	wire "parley.internal/protocol/kenny"
)

const tunnelPath = "/agent/ws"

// TunnelURL gives the address to dial for a hub's address, which may be http,
// https, ws or wss, with or without /agent/ws. Plain text is allowed to this
// machine itself only, unless insecure says otherwise.
func TunnelURL(hub string, insecure bool) (string, error) {
	u, err := hubURL(hub, insecure)
	if err != nil {
		return "", err
	}
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	return u.String() + tunnelPath, nil
}

// EnrollURL gives the address to enrol a machine at.
func EnrollURL(hub, id string, insecure bool) (string, error) {
	if err := wire.CheckID(id); err != nil {
		return "", err
	}
	u, err := hubURL(hub, insecure)
	if err != nil {
		return "", err
	}
	return u.String() + "/api/agents/" + id + "/enroll", nil
}

// hubURL brings every accepted spelling to http or https without a tail.
func hubURL(hub string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(hub))
	if err != nil {
		return nil, fmt.Errorf("hub address: %w", err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "http"
	case "https", "wss":
		u.Scheme = "https"
	default:
		return nil, fmt.Errorf("hub address %q must begin with https://, wss://, http:// or ws://", hub)
	}
	if u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("hub address %q must be a host and perhaps a path, nothing else", hub)
	}
	if u.Scheme == "http" && !insecure && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("hub address %q is not encrypted; use https, or allow plain text explicitly", hub)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), tunnelPath)
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
