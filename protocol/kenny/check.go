package kenny

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func (r *Register) check() error {
	if err := CheckID(r.AgentID); err != nil {
		return err
	}
	if err := atMost("protocol", r.Protocol, MaxProtocolText); err != nil {
		return err
	}
	if r.ClientNonce != nil {
		if err := exactly("client_nonce", r.ClientNonce, NonceSize); err != nil {
			return err
		}
	}
	return r.Meta.check()
}

func (m Meta) check() error {
	if !m.OS.Valid() {
		return fmt.Errorf("meta.os %q is not windows, linux or macos", clip(string(m.OS)))
	}
	if err := atMost("meta.hostname", m.Hostname, MaxHostname); err != nil {
		return err
	}
	if err := atMost("meta.version", m.Version, MaxVersionText); err != nil {
		return err
	}
	if m.small() {
		return nil
	}
	raw, err := json.Marshal(m.members())
	if err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	if len(raw) > MaxMeta {
		return fmt.Errorf("meta has %d bytes, at most %d", len(raw), MaxMeta)
	}
	return nil
}

// small says that the object cannot be too large, however it is written: a byte
// takes six at most.
func (m Meta) small() bool {
	const worst, frame = 6, 64
	size := frame + worst*(len(m.Hostname)+len(m.OS)+len(m.Version)+len(m.Arch))
	for key, value := range m.Extra {
		if !value.IsValid() {
			return false
		}
		size += worst*(len(key)+len(value)) + 4
	}
	return size <= MaxMeta
}

func (c *Challenge) check() error {
	if err := exactly("server_nonce", c.ServerNonce, NonceSize); err != nil {
		return err
	}
	return exactly("server_sig", c.ServerSig, ed25519.SignatureSize)
}

func (a *Auth) check() error { return exactly("agent_sig", a.AgentSig, ed25519.SignatureSize) }

func (r *Request) check() error {
	if err := between("id", r.ID, 1, MaxRequestID); err != nil {
		return err
	}
	if err := between("tool", r.Tool, 1, MaxToolName); err != nil {
		return err
	}
	return isObject("args", r.Args)
}

// A response is a success with a result or a failure with an error; one that
// claims both ways would let the reader choose.
func (r *Response) check() error {
	if err := between("id", r.ID, 1, MaxRequestID); err != nil {
		return err
	}
	switch {
	case r.OK && r.Error != nil:
		return errors.New("ok is true, yet there is an error")
	case !r.OK && r.Result != nil:
		return errors.New("ok is false, yet there is a result")
	case r.Result != nil:
		return isObject("result", r.Result)
	}
	return nil
}

func (p *Policy) check() error {
	if len(p.Rules) > MaxRules {
		return fmt.Errorf("%d rules, at most %d", len(p.Rules), MaxRules)
	}
	for i, r := range p.Rules {
		if !r.AppliesTo.Valid() {
			return fmt.Errorf("rule %d: applies_to %q is not powershell, self_protection or path", i+1, clip(string(r.AppliesTo)))
		}
	}
	return nil
}

// Valid reports whether the kind of rule may travel.
func (a AppliesTo) Valid() bool {
	return a == AppliesPowerShell || a == AppliesSelfProtection || a == AppliesPath
}

func (t *Telemetry) check() error {
	if err := CheckID(t.AgentID); err != nil {
		return err
	}
	if _, err := t.CollectedAt.Time(); err != nil {
		return fmt.Errorf("collected_at: %w", err)
	}
	if t.Snapshot == nil {
		return errors.New("no snapshot")
	}
	return CheckSnapshot(t.Snapshot)
}

var sectionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// CheckSnapshot holds a snapshot to the rules of a telemetry frame; a result
// of telemetry_collect has the same shape.
func CheckSnapshot(snapshot map[string]jsontext.Value) error {
	if len(snapshot) > MaxSections {
		return fmt.Errorf("%d sections, at most %d", len(snapshot), MaxSections)
	}
	for name, raw := range snapshot {
		if !sectionName.MatchString(name) {
			return fmt.Errorf("section name %q is not allowed", clip(name))
		}
		if _, err := ReadSection(raw); err != nil {
			return fmt.Errorf("section %s: %w", name, err)
		}
	}
	return nil
}

func (l *Log) check() error {
	if err := CheckID(l.AgentID); err != nil {
		return err
	}
	if _, err := l.At.Time(); err != nil {
		return fmt.Errorf("at: %w", err)
	}
	if !l.Level.Valid() {
		return fmt.Errorf("level %q is not error, warn, info, debug or trace", clip(string(l.Level)))
	}
	if l.Fields != nil {
		return isObject("fields", l.Fields)
	}
	return nil
}

// Valid reports whether the level is one of the five.
func (l Level) Valid() bool {
	switch l {
	case LevelError, LevelWarn, LevelInfo, LevelDebug, LevelTrace:
		return true
	}
	return false
}

func (*Ping) check() error { return nil }

func (*Pong) check() error { return nil }

func atMost(key, s string, most int) error { return between(key, s, 0, most) }

func between(key, s string, least, most int) error {
	if n := utf8.RuneCountInString(s); n < least || n > most {
		return fmt.Errorf("%q has %d characters, allowed are %d to %d", key, n, least, most)
	}
	return nil
}

func exactly(key string, b []byte, size int) error {
	if len(b) != size {
		return fmt.Errorf("%q has %d bytes, not %d", key, len(b), size)
	}
	return nil
}

func isObject(key string, v jsontext.Value) error {
	if v.Kind() != '{' {
		return fmt.Errorf("%q is not an object", key)
	}
	return nil
}
