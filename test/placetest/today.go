package placetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

// Place is a running place of today's generation.
type Place struct {
	URL    string
	server *httptest.Server

	mu       sync.Mutex
	agents   map[string]agent
	tokens   map[string]string // to ids
	queues   map[string][]relay.Message
	deposits map[string]map[string]any // by owner and skill
	calls    []string
	broken   string
}

type agent struct {
	Name         string
	PublicKey    string
	Capabilities json.RawMessage
}

// Today starts one; it ends with the test.
func Today(t testing.TB) *Place {
	p := &Place{
		agents: map[string]agent{}, tokens: map[string]string{}, queues: map[string][]relay.Message{}, deposits: map[string]map[string]any{},
	}
	p.server = httptest.NewServer(p.routes())
	p.URL = p.server.URL
	t.Cleanup(p.server.Close)
	return p
}

// Client reaches the place.
func (p *Place) Client() *http.Client { return p.server.Client() }

// Agents lists who is registered.
func (p *Place) Agents() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.agents))
}

// Can lists what an agent said it can do.
func (p *Place) Can(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.agents[id].Capabilities)
}

// Deposits lists "owner/skill" of all that is on the shelf.
func (p *Place) Deposits() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.deposits))
}

// Calls lists the requests so far as "METHOD /path".
func (p *Place) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Break lets every request to a path fail with 500.
func (p *Place) Break(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = path
}

type members map[string]any

func (m members) text(key string) string { s, _ := m[key].(string); return s }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever left does not read it
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, members{"error": code, "message": code})
}

// routes are those of today's generation; whatever is not here is 404.
func (p *Place) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, serve func(http.ResponseWriter, *http.Request, members)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var in members
			_ = json.NewDecoder(r.Body).Decode(&in) // no body is none
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.calls = append(p.calls, r.Method+" "+r.URL.Path); p.broken != "" && strings.HasSuffix(r.URL.Path, p.broken) {
				refuse(w, http.StatusInternalServerError, "internal_error")
				return
			}
			serve(w, r, in)
		})
	}
	known := func(pattern string, serve func(http.ResponseWriter, *http.Request, string, members)) {
		open(pattern, func(w http.ResponseWriter, r *http.Request, in members) {
			id := p.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
			if id == "" {
				refuse(w, http.StatusUnauthorized, "authentication_required")
				return
			}
			serve(w, r, id, in)
		})
	}
	open("GET /place/v1/info", p.info)
	open("POST /place/v1/register", p.register)
	known("POST /place/v1/unregister", p.unregister)
	known("GET /place/v1/agents", p.list)
	known("GET /place/v1/keys/{id}", p.key)
	known("POST /place/v1/relay/send", p.send)
	known("GET /place/v1/relay/receive", p.receive)
	known("POST /place/v1/deposit", p.deposit)
	known("DELETE /place/v1/deposit/{skill}", p.withdraw)
	known("GET /place/v1/board/browse", p.browse)
	known("GET /place/v1/preview/{skill}", p.show)
	known("GET /place/v1/skill_content/{skill}", p.show)
	open("POST /place/v1/keys/register", func(w http.ResponseWriter, _ *http.Request, _ members) { refuse(w, http.StatusNotFound, "not_found") })
	open("GET /meeting/v1/introduce", p.introduction)
	known("POST /meeting/v1/message", p.message)
	return mux
}

// info tells limits in words and features as an object.
func (p *Place) info(w http.ResponseWriter, _ *http.Request, _ members) {
	answer(w, 200, members{
		"name": "a place of today", "version": 3, "features": members{"deposit": true}, "max_agents": "unlimited", "place_id": nil,
		"deposit_limits": members{"max_size": "100KB", "per_agent": 20, "window": "1h"}, "started_at": 1700000000,
	})
}

func (p *Place) register(w http.ResponseWriter, _ *http.Request, in members) {
	id := in.text("id")
	identity, _ := json.Marshal(in["identity"])
	key, err := mmp.ParsePublicKey(in.text("public_key"))
	if err == nil {
		err = mmp.VerifyIdentity(key, mmp.Static{Identity: identity, Signature: in.text("identity_signature")})
	}
	if err != nil || mmp.InstanceOf(identity) != id {
		refuse(w, http.StatusUnauthorized, "invalid_signature")
		return
	}
	can, _ := json.Marshal(in["capabilities"])
	token := mmp.NewToken()
	p.agents[id], p.tokens[token] = agent{Name: in.text("name"), PublicKey: in.text("public_key"), Capabilities: can}, id
	answer(w, 200, members{"status": "registered", "agent_id": id, "identity_verified": true, "session_token": token, "expires_at": 3600})
}

func (p *Place) unregister(w http.ResponseWriter, _ *http.Request, id string, _ members) {
	delete(p.agents, id)
	maps.DeleteFunc(p.tokens, func(_, of string) bool { return of == id })
	answer(w, 200, members{"status": "unregistered", "agent_id": id})
}

func (p *Place) list(w http.ResponseWriter, _ *http.Request, _ string, _ members) {
	all := []members{}
	for _, id := range slices.Sorted(maps.Keys(p.agents)) {
		all = append(all, members{"id": id, "name": p.agents[id].Name, "capabilities": p.agents[id].Capabilities, "registered_at": "just now"})
	}
	answer(w, 200, members{"agents": all})
}

func (p *Place) key(w http.ResponseWriter, r *http.Request, _ string, _ members) {
	a, ok := p.agents[r.PathValue("id")]
	if !ok {
		refuse(w, http.StatusNotFound, "not_found")
		return
	}
	answer(w, 200, members{"agent_id": r.PathValue("id"), "public_key": a.PublicKey})
}

func (p *Place) send(w http.ResponseWriter, _ *http.Request, id string, in members) {
	if !mmp.HashFits(in.text("blob_hash"), in.text("encrypted_blob")) {
		refuse(w, http.StatusUnprocessableEntity, "hash_mismatch")
		return
	}
	m := relay.Message{ID: mmp.NewRelayID(), From: id, To: in.text("to"), MessageType: in.text("message_type"), Blob: in.text("encrypted_blob"), BlobHash: in.text("blob_hash")}
	p.queues[m.To] = append(p.queues[m.To], m)
	answer(w, 200, members{"relay_id": m.ID, "status": "queued", "expires_at": "in an hour"})
}

func (p *Place) receive(w http.ResponseWriter, _ *http.Request, id string, _ members) {
	queued := p.queues[id]
	delete(p.queues, id)
	answer(w, 200, members{"messages": queued, "count": len(queued)})
}

func (p *Place) deposit(w http.ResponseWriter, _ *http.Request, id string, in members) {
	if hash := in.text("content_hash"); hash != "" && !mmp.HashFits(hash, in.text("content")) {
		refuse(w, http.StatusUnprocessableEntity, "deposit_rejected")
		return
	}
	in["depositor_id"], in["agent_id"], in["type"] = id, id, "deposited_skill"
	p.deposits[id+"/"+in.text("skill_id")] = in
	answer(w, 200, members{"status": "deposited", "skill_id": in["skill_id"], "trust_notice": "read it first"})
}

func (p *Place) withdraw(w http.ResponseWriter, r *http.Request, id string, in members) {
	at := id + "/" + r.PathValue("skill")
	switch {
	case p.deposits[at] == nil:
		refuse(w, http.StatusNotFound, "not_found")
	case in.text("reason") == "":
		refuse(w, http.StatusBadRequest, "reason_required")
	default:
		delete(p.deposits, at)
		answer(w, 200, members{"status": "withdrawn", "skill_id": r.PathValue("skill")})
	}
}

// browse has entries only, and no postings.
func (p *Place) browse(w http.ResponseWriter, _ *http.Request, _ string, _ members) {
	entries := []members{}
	for _, d := range p.deposits {
		e := maps.Clone(d)
		delete(e, "content")
		entries = append(entries, e)
	}
	answer(w, 200, members{"entries": entries, "total_available": len(entries)})
}

func (p *Place) show(w http.ResponseWriter, r *http.Request, _ string, _ members) {
	for at, d := range p.deposits {
		owner, skill, _ := strings.Cut(at, "/")
		if want := r.URL.Query().Get("owner"); skill == r.PathValue("skill") && (want == "" || want == owner) {
			answer(w, 200, d)
			return
		}
	}
	refuse(w, http.StatusNotFound, "skill_not_found")
}

func (p *Place) introduction(w http.ResponseWriter, _ *http.Request, _ members) {
	answer(w, 200, members{"identity": members{"name": "today", "instance_id": "today"}, "capabilities": meeting.CoreActions(), "extensions": []string{}})
}

// message knows the core and hashes.
func (p *Place) message(w http.ResponseWriter, _ *http.Request, id string, in members) {
	action := in.text("action")
	payload, _ := in["payload"].(map[string]any)
	switch content := members(payload); {
	case in.text("id") == "" || in.text("timestamp") == "":
		refuse(w, http.StatusBadRequest, "missing_fields")
	case slices.Contains(meeting.CoreActions(), action):
		answer(w, 200, members{"status": meeting.ResultReceived, "action": action, "from": id})
	case action == meeting.ActionSkillContent && mmp.HashFits(content.text("content_hash"), content.text("content")):
		answer(w, 200, members{"status": meeting.ResultReceived, "action": action, "from": id})
	default:
		answer(w, 200, members{"status": meeting.ResultError, "error": "Unsupported action: " + action})
	}
}
