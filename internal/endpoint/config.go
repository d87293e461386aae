package endpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley.internal/client/kenny"
	"parley.internal/internal/durable"
	"parley.internal/internal/endpoint/logs"
	wire "parley.internal/protocol/kenny"
)

// ConfigFile is the settings' file in the state folder.
const ConfigFile = "config.json"

// Config is what an endpoint remembers between runs. It holds no secret.
type Config struct {
	// URL is the hub's address, or those of several hubs of a cluster, between commas.
	URL string `json:"url"`
	ID  string `json:"id"`
	// ServerKeys are the one or two hub keys this machine trusts.
	ServerKeys []string `json:"server_keys"`
	// Insecure allows a plain connection to another host.
	Insecure bool `json:"insecure,omitempty"`
	// Interval is the distance of two snapshots; 0 is the protocol's.
	Interval time.Duration `json:"interval,omitempty"`
	// LogForward is the least level of records the hub gets.
	LogForward string `json:"log_forward,omitempty"`
	// ReleaseKeys sign updates, beside those built in; UpdateHosts serve
	// them, beside the hub.
	ReleaseKeys []string `json:"release_keys,omitempty"`
	UpdateHosts []string `json:"update_hosts,omitempty"`
	// Service: installed as a service.
	Service bool `json:"service,omitempty"`
	// EnrolledWith is the digest of the token that enrolled the key.
	EnrolledWith string `json:"enrolled_with,omitempty"`
}

// Merge gives a with everything that b sets.
func (a Config) Merge(b Config) Config {
	if b.URL != "" {
		a.URL = b.URL
	}
	if b.ID != "" {
		a.ID = b.ID
	}
	if len(b.ServerKeys) > 0 {
		a.ServerKeys = b.ServerKeys
	}
	if b.Interval != 0 {
		a.Interval = b.Interval
	}
	if b.LogForward != "" {
		a.LogForward = b.LogForward
	}
	if len(b.ReleaseKeys) > 0 {
		a.ReleaseKeys = b.ReleaseKeys
	}
	if len(b.UpdateHosts) > 0 {
		a.UpdateHosts = b.UpdateHosts
	}
	if b.EnrolledWith != "" {
		a.EnrolledWith = b.EnrolledWith
	}
	a.Insecure = a.Insecure || b.Insecure
	a.Service = a.Service || b.Service
	return a
}

// minInterval keeps a slip of the pen from flooding the hub.
const minInterval = 10 * time.Second

// check refuses a configuration that cannot work.
func (a Config) check() error {
	if a.URL == "" || a.ID == "" {
		return ErrNotConfigured
	}
	if err := wire.CheckID(a.ID); err != nil {
		return err
	}
	for _, hub := range a.addresses() {
		if _, err := kenny.TunnelURL(hub, a.Insecure); err != nil {
			return err
		}
	}
	if _, err := a.pins(); err != nil {
		return fmt.Errorf("--server-key: %w", err)
	}
	if _, err := a.releaseKeys(); err != nil {
		return fmt.Errorf("--release-key: %w", err)
	}
	if a.Interval != 0 && a.Interval < minInterval {
		return fmt.Errorf("--interval %s is too short; at least %s", a.Interval, minInterval)
	}
	_, err := logs.ParseLevel(a.LogForward)
	return err
}

func (a Config) pins() ([]ed25519.PublicKey, error) { return wire.ParsePins(a.ServerKeys...) }

func (a Config) releaseKeys() ([]ed25519.PublicKey, error) {
	var out []ed25519.PublicKey
	for _, text := range a.ReleaseKeys {
		k, err := wire.ParsePublicKey(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// hosts are where updates may come from: the hub, and what was named.
func (a Config) hosts() []string {
	out := append([]string(nil), a.UpdateHosts...)
	for _, hub := range a.addresses() {
		if u, err := url.Parse(hub); err == nil && u.Host != "" {
			out = append(out, u.Host)
		}
	}
	return out
}

// addresses are where the hub, or the hubs of its cluster, can be reached.
func (a Config) addresses() []string {
	list := strings.Split(a.URL, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func (a Config) interval() time.Duration {
	if a.Interval == 0 {
		return wire.TelemetryEvery
	}
	return a.Interval
}

// digest is what is remembered of a token.
func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// LoadConfig reads the settings of a state folder; none is no error.
func LoadConfig(folder string) (Config, error) {
	data, err := os.ReadFile(filepath.Join(folder, ConfigFile))
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, err
	}
	var c Config
	if err := json.Unmarshal(data, &c); err != nil {
		return Config{}, fmt.Errorf("%s: %w: %w", ConfigFile, ErrDamaged, err)
	}
	return c, nil
}

// SaveConfig writes the settings of a state folder.
func SaveConfig(folder string, c Config) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return durable.Write(filepath.Join(folder, ConfigFile), append(data, '\n'), 0o600)
}
