package kenny

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// readers finds the function that takes a frame's members apart.
func readers(t Type) (func(*fields) Frame, bool) {
	switch t {
	case TypeRegister:
		return readRegister, true
	case TypeChallenge:
		return readChallenge, true
	case TypeAuth:
		return readAuth, true
	case TypeRequest:
		return readRequest, true
	case TypeResponse:
		return readResponse, true
	case TypePolicy:
		return readPolicy, true
	case TypeTelemetry:
		return readTelemetry, true
	case TypeLog:
		return readLog, true
	case TypePing:
		return func(*fields) Frame { return &Ping{} }, true
	case TypePong:
		return func(*fields) Frame { return &Pong{} }, true
	}
	return nil, false
}

func readRegister(f *fields) Frame {
	r := &Register{
		AgentID:     f.text("agent_id"),
		Protocol:    f.optionalText("protocol"),
		ClientNonce: f.optionalBytes("client_nonce"),
		Token:       f.optionalText("token"),
	}
	raw := f.object("meta")
	if f.err != nil {
		return r
	}
	if len(raw) > MaxMeta {
		f.fail("meta has %d bytes, at most %d", len(raw), MaxMeta)
		return r
	}
	r.Meta, f.err = readMeta(raw)
	return r
}

// readMeta keeps unknown members, and an arch that is no plain text among them.
func readMeta(raw jsontext.Value) (Meta, error) {
	f := openFields(raw)
	m := Meta{Hostname: f.text("hostname"), OS: OS(f.text("os")), Version: f.text("version")}
	if arch, err := unquote(f.members["arch"]); err == nil && arch != "" {
		m.Arch = arch
		delete(f.members, "arch")
	}
	if len(f.members) > 0 {
		m.Extra = f.members
	}
	return m, f.err
}

// members is the meta object as it travels.
func (m Meta) members() map[string]jsontext.Value {
	out := make(map[string]jsontext.Value, len(m.Extra)+4)
	maps.Copy(out, m.Extra)
	out["hostname"] = quote(m.Hostname)
	out["os"] = quote(string(m.OS))
	out["version"] = quote(m.Version)
	if m.Arch != "" {
		out["arch"] = quote(m.Arch)
	}
	return out
}

// quote writes a JSON string; bad UTF-8 becomes the replacement character.
func quote(s string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, s) // the error only repeats that something was replaced
	return v
}

func readChallenge(f *fields) Frame {
	return &Challenge{ServerNonce: f.bytes("server_nonce"), ServerSig: f.bytes("server_sig")}
}

func readAuth(f *fields) Frame { return &Auth{AgentSig: f.bytes("agent_sig")} }

func readRequest(f *fields) Frame {
	return &Request{ID: f.text("id"), Tool: f.text("tool"), Args: f.object("args")}
}

func readResponse(f *fields) Frame {
	r := &Response{ID: f.text("id"), OK: f.flag("ok"), Result: f.optionalObject("result")}
	raw := f.optionalObject("error")
	if raw == nil {
		return r
	}
	e := openFields(raw)
	r.Error = &Error{Code: Code(e.text("code")), Message: e.text("message")}
	if err := e.done(); err != nil {
		f.fail("error: %w", err)
	}
	return r
}

func readPolicy(f *fields) Frame {
	p := &Policy{Rules: []Rule{}}
	raw, ok := f.need("rules")
	if !ok {
		return p
	}
	for i, item := range f.list("rules", raw, MaxRules) {
		rule, err := readRule(item)
		if err != nil {
			f.fail("rule %d: %w", i+1, err)
			return p
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func readRule(raw jsontext.Value) (Rule, error) {
	f := openFields(raw)
	r := Rule{
		ID: f.text("id"), AppliesTo: AppliesTo(f.text("applies_to")),
		Pattern: f.text("pattern"), Reason: f.text("reason"),
	}
	return r, f.done()
}

// list splits an array of at most limit values; they alias raw.
func (f *fields) list(key string, raw jsontext.Value, limit int) []jsontext.Value {
	if raw.Kind() != '[' {
		f.fail("%q is not a list", key)
		return nil
	}
	items, err := jsonobject.List(raw, limit)
	if err != nil {
		f.fail("%q: %w", key, err)
	}
	return items
}

func readTelemetry(f *fields) Frame {
	t := &Telemetry{AgentID: f.text("agent_id"), CollectedAt: Timestamp(f.text("collected_at"))}
	raw := f.object("snapshot")
	if f.err != nil {
		return t
	}
	t.Snapshot, f.err = parseObject(raw)
	return t
}

func readLog(f *fields) Frame {
	return &Log{
		AgentID: f.text("agent_id"), At: Timestamp(f.text("at")), Level: Level(f.text("level")),
		Target: f.text("target"), Message: f.text("message"), Fields: f.optionalObject("fields"),
	}
}
