package skills_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/test/hubtest"
)

// node is an agent of an original generation: it knows envelope 1 and the routes of its
// time, written out here from the protocol's text, and nothing that is ours.
type node struct {
	t     *testing.T
	place string
	id    string
	key   *mmp.PrivateKey
	token string
	heard map[string]map[string]any // what came by the relay, by action
}

type object = map[string]any

func (n *node) call(method, path string, body any) object {
	n.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.place+path, bytes.NewReader(encoded))
	if err != nil {
		n.t.Fatal(err)
	}
	if n.token != "" {
		req.Header.Set("Authorization", "Bearer "+n.token)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	out := object{}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode > 299 {
		n.t.Fatalf("%s %s of %s: %d %v %v", method, path, n.id, res.StatusCode, out, err)
	}
	return out
}

// newNode registers one: in January with a name and a key beside, today with a signed
// identity.
func newNode(t *testing.T, place, id string, signed bool) *node {
	t.Helper()
	key, err := mmp.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, place: place, id: id, key: key, heard: map[string]map[string]any{}}
	if !signed {
		n.call("POST", "/place/v1/register", object{"id": id, "name": id, "capabilities": []string{"introduce", "offer_skill", "request_skill"}})
		n.call("POST", "/place/v1/keys/register", object{"agent_id": id, "public_key": key.Public().PEM()})
		return n
	}
	static, err := mmp.SignIdentity(key, mmp.Identity{Name: id, InstanceID: id, Scope: "general", Version: "3", Description: "a node of today"})
	if err != nil {
		t.Fatal(err)
	}
	out := n.call("POST", "/place/v1/register", object{
		"id": id, "name": id, "public_key": key.Public().PEM(), "identity": json.RawMessage(static.Identity), "identity_signature": static.Signature,
	})
	n.token, _ = out["session_token"].(string)
	return n
}

// say sends a message of the message layer by the relay, in envelope 1.
func (n *node) say(to, action string, payload object, reply any) string {
	n.t.Helper()
	shown := n.call("GET", "/place/v1/keys/"+to, nil)
	key, err := mmp.ParsePublicKey(fmt.Sprint(shown["public_key"]))
	if err != nil {
		n.t.Fatal(err)
	}
	id := mmp.NewMessageID()
	plain, err := json.Marshal(n.message(id, to, action, payload, reply))
	if err != nil {
		n.t.Fatal(err)
	}
	blob, err := mmp.Seal1(key, plain)
	if err != nil {
		n.t.Fatal(err)
	}
	n.call("POST", "/place/v1/relay/send", object{"from": n.id, "to": to, "encrypted_blob": blob, "blob_hash": mmp.HashOf(blob).Prefixed(), "message_type": action})
	return id
}

func (n *node) message(id, to, action string, payload object, reply any) object {
	m := object{"id": id, "action": action, "from": n.id, "to": to, "timestamp": time.Now().UTC().Format(time.RFC3339), "payload": payload}
	if reply != nil {
		m["in_reply_to"] = reply
	}
	return m
}

// hears waits for a message with that action.
func (n *node) hears(action string) object {
	n.t.Helper()
	hubtest.Eventually(n.t, n.id+" hears "+action, func() bool {
		messages, _ := n.call("GET", "/place/v1/relay/receive?agent_id="+n.id, nil)["messages"].([]any)
		for _, raw := range messages {
			m, _ := raw.(object)
			env, err := mmp.ParseEnvelope(fmt.Sprint(m["encrypted_blob"]))
			if err != nil || env.Version != 1 {
				n.t.Fatalf("%s cannot read what came: %v", n.id, err)
			}
			plain, err := env.Open1(n.key)
			if err != nil {
				n.t.Fatal(err)
			}
			var said object
			if err := json.Unmarshal(plain, &said); err != nil {
				n.t.Fatal(err)
			}
			n.heard[fmt.Sprint(said["action"])] = said
		}
		return n.heard[action] != nil
	})
	said := n.heard[action]
	delete(n.heard, action)
	return said
}

func member(o object, names ...string) any {
	var v any = o
	for _, name := range names {
		m, _ := v.(object)
		v = m[name]
	}
	return v
}

func skillOf(name string) (string, object) {
	text := "# " + name + "\n\nMix well.\n"
	return text, object{"skill_id": name, "skill_name": name, "content": text, "content_hash": mmp.HashOf(text).Bare()}
}

// A node of January and one of today meet Ada's agent at her place. Each asks for her skill
// and gets it, and gives one of its own, by the relay; each does the same at her agent's
// address; the one of today does it by the shelf, too, which January did not have. All that
// comes waits in quarantine as a stranger's, and nobody is asked about it by itself.
func TestNodesOfBothGenerationsExchangeSkillsBothWays(t *testing.T) {
	ada := withSkill(t, "tea")
	ada.write("agents/parley.md", "---\ndescription: Brews tea\nskills: [\"*\"]\ndeposit: true\n---\nYou brew tea.\n")
	adaID := ada.agent()
	ada.until("Ada's skill is public", func() bool {
		a := ada.As("", "GET", "/meeting/v1/skills", "")
		return strings.Contains(string(a.Body), `"tea"`)
	})
	var came []string
	for id, signed := range map[string]bool{"january": false, "today": true} {
		n := newNode(t, ada.URL, id, signed)

		// By the relay.
		asked := n.say(adaID, "request_skill", object{"description": "how to brew tea"}, nil)
		offer := n.hears("offer_skill")
		if offer["in_reply_to"] != asked || member(offer, "payload", "skill_id") != "tea" {
			t.Fatalf("%s asked for tea and was offered %v", id, offer)
		}
		n.say(adaID, "accept", object{"skill_id": "tea"}, offer["id"])
		if got := fmt.Sprint(member(n.hears("skill_content"), "payload", "content")); !strings.Contains(got, secret) {
			t.Errorf("%s got %q", id, got)
		}
		text, mine := skillOf(id + "-relay")
		mineOffer := object{"skill_id": mine["skill_id"], "skill_name": mine["skill_name"], "skill_format": "markdown", "content_hash": mmp.HashOf(text).Bare()}
		sent := n.say(adaID, "offer_skill", mineOffer, nil)
		if accept := n.hears("accept"); accept["in_reply_to"] != sent {
			t.Errorf("%s offered and heard %v", id, accept)
		} else {
			n.say(adaID, "skill_content", mine, accept["id"])
		}

		// At the agent's address. January's had no tokens there.
		if signed {
			in := n.call("POST", "/meeting/v1/introduce", n.message(mmp.NewMessageID(), adaID, "introduce", object{"identity": object{"name": id, "instance_id": id}}, nil))
			if in["status"] != "received" {
				t.Errorf("%s introduced itself and heard %v", id, in)
			}
		}
		packed := n.call("POST", "/meeting/v1/skill_content", object{"skill_id": "tea", "to": n.id})
		if got := fmt.Sprint(member(packed, "packaged_skill", "content")); !strings.Contains(got, secret) {
			t.Errorf("%s got %q at the address", id, got)
		}
		_, direct := skillOf(id + "-direct")
		if out := n.call("POST", "/meeting/v1/message", n.message(mmp.NewMessageID(), adaID, "skill_content", direct, nil)); out["status"] != "received" {
			t.Errorf("%s gave a skill at the address and heard %v", id, out)
		}
		came = append(came, id+"-relay", id+"-direct")
		if !signed {
			continue
		}

		// By the shelf.
		text, left := skillOf(id + "-shelf")
		n.call("POST", "/place/v1/deposit", object{"skill_id": left["skill_id"], "name": left["skill_name"], "content": text, "content_hash": mmp.HashOf(text).Bare()})
		ada.until("Ada's own skill lies on her shelf", func() bool {
			<-time.After(time.Second) // a place has a limit for whoever asks and asks
			return len(ada.deposits("")) == 2
		})
		if got := fmt.Sprint(n.call("GET", "/place/v1/skill_content/tea?owner="+adaID, nil)["content"]); !strings.Contains(got, secret) {
			t.Errorf("%s took %q from the shelf", id, got)
		}
		ada.post("/api/skills/acquire", map[string]string{"owner": n.id, "skill": id + "-shelf"}, nil)
		came = append(came, id+"-shelf")
	}
	ada.until("all that was given waits", func() bool { return len(ada.received()) == len(came) })
	for _, got := range ada.received() {
		shelf := strings.HasSuffix(got.Title, "-shelf")
		if !slices.Contains(came, got.Title) || got.State != "quarantined" || got.Level != "L2" || (got.Approval != "") != shelf {
			t.Errorf("this came: %+v", got)
		}
	}
}

// Nodes of both generations answer at an address of their own. Ada's agent goes there,
// asks for their skill and gives them hers.
func TestNodesOfBothGenerationsAreMetAtTheirAddress(t *testing.T) {
	for _, id := range []string{"january", "today"} {
		t.Run(id, func(t *testing.T) {
			ada := withSkill(t, "tea")
			ada.agent()
			taken := make(chan string, 10)
			text, mine := skillOf(id)
			server := httptest.NewServer(oldEndpoint(id, text, mine, taken))
			t.Cleanup(server.Close)
			ada.until("Ada's skill is public", func() bool {
				a := ada.As("", "GET", "/meeting/v1/skills", "")
				return strings.Contains(string(a.Body), `"tea"`)
			})
			m := ada.meet(server.URL)
			if m.Peer != id || m.Proven {
				t.Fatalf("the node was met as %+v", m)
			}
			ada.post("/api/skills/request", map[string]any{"to": id, "place": m.Place, "skill_id": id}, nil)
			ada.until("its skill waits", func() bool { return len(ada.received()) == 1 })
			if got := ada.received()[0]; got.Level != "L2" || got.State != "quarantined" || got.Sender != id {
				t.Errorf("it came as %+v", got)
			}
			ada.post("/api/skills/offer", map[string]any{"to": id, "place": m.Place, "skill": "tea"}, nil)
			ada.until("Ada's skill is there", func() bool {
				select {
				case got := <-taken:
					return strings.Contains(got, secret)
				default:
					return false
				}
			})
		})
	}
}

// oldEndpoint is an old node's own address: it offers one skill, and takes all it is offered.
// The one of January sends no format, and itself twice at the end of the way.
func oldEndpoint(id, text string, mine object, taken chan<- string) http.Handler {
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // whoever left does not read it
	}
	self := object{
		"identity":     object{"name": id, "instance_id": id, "description": "an old node", "scope": "general", "version": "1"},
		"capabilities": object{"meeting_protocol_version": "1.0.0", "supported_actions": []string{"introduce", "goodbye", "error", "offer_skill", "request_skill", "accept", "decline", "skill_content", "reflect"}, "skill_formats": []string{"markdown"}},
		"skills":       []object{{"id": id, "name": id, "format": "markdown", "summary": "old"}}, "extensions": []string{"skill_exchange"},
	}
	mux.HandleFunc("GET /meeting/v1/introduce", func(w http.ResponseWriter, _ *http.Request) { reply(w, self) })
	mux.HandleFunc("POST /meeting/v1/introduce", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, object{"status": "received", "action": "introduce", "from": id, "peer_identity": self})
	})
	mux.HandleFunc("POST /meeting/v1/message", func(w http.ResponseWriter, r *http.Request) {
		var m object
		_ = json.NewDecoder(r.Body).Decode(&m) // no message has no action
		out := object{"status": "received", "action": m["action"], "from": m["from"]}
		switch m["action"] {
		case "request_skill":
			out["matches"] = []object{{"id": id, "name": id, "format": "markdown", "content_hash": mmp.HashOf(text).Bare()}}
		case "offer_skill":
			out["can_accept"] = true
		case "skill_content":
			taken <- fmt.Sprint(member(m, "payload", "content"))
		}
		reply(w, out)
	})
	mux.HandleFunc("POST /meeting/v1/skill_content", func(w http.ResponseWriter, _ *http.Request) {
		packed := object{"name": id, "content": text, "content_hash": mine["content_hash"], "format": "markdown", "provenance": object{"origin": id, "chain": []string{id}, "hop_count": 0}}
		if id == "january" {
			delete(packed, "format")
			packed["provenance"] = object{"origin": id, "chain": []string{id, id}, "hop_count": 1}
		}
		reply(w, object{"packaged_skill": packed})
	})
	return mux
}
