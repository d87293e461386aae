package place_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/internal/publicnet"
	"parley.internal/protocol/mmp"
)

// loopback is where the places of these tests are.
var loopback = publicnet.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// federated is a place that may be peered; n tells the keys of two apart.
func federated(t *testing.T, n byte, more ...option) *world {
	t.Helper()
	caller := faceplace.NewCaller(loopback)
	t.Cleanup(caller.Close)
	return newWorld(t, append([]option{func(c *place.Config, d *place.Deps, _ *faceplace.Deps) {
		c.Federation, d.Peers = true, caller
		d.Key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	}}, more...)...)
}

func (w *world) peer(name string, other *world) {
	w.t.Helper()
	if _, err := w.place.AddPeer(w.t.Context(), operator, place.Peer{Name: name, URL: other.url, Key: other.place.PlaceKey()}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) round() {
	w.t.Helper()
	if err := w.place.Federate(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// pair is two places that know each other as "here" and "there".
func pair(t *testing.T) (here, there *world) {
	t.Helper()
	here, there = federated(t, 1), federated(t, 2)
	here.peer("there", there)
	there.peer("here", here)
	return here, there
}

func TestAgentsOfAPeeredPlaceAreFoundAndWrittenTo(t *testing.T) {
	here, there := pair(t)
	ada, bob := here.prove(keyNo(0), "ada"), there.prove(keyNo(1), "bob")
	there.join("shy") // never proved anything: it stays at home
	r := there.want(there.post("/place/v1/register", bob, m{"id": "bob", "name": "Bob", "metadata": m{"federate": true}}), 200, "")
	_ = r
	here.round()

	found := here.want(here.get("/place/v1/agents", ada), 200, "")
	var remote []string
	for _, a := range found.list("agents") {
		agent, _ := a.(map[string]any)
		if agent["place"] == "there" {
			remote = append(remote, fmt.Sprint(agent["id"]))
		}
	}
	if cmp.Diff(remote, []string{"bob@there"}) != "" {
		t.Fatalf("%v in %s", remote, found.raw)
	}
	here.want(here.get("/place/v1/agents/bob@there", ada), 200, "")
	if k := here.want(here.get("/place/v1/keys/bob@there", ada), 200, ""); k.str("public_key") != keyNo(1).Public().PEM() {
		t.Errorf("%s", k.raw)
	}
	if without := here.want(here.get("/place/v1/agents?include_remote=false", ada), 200, ""); without.num("count") != 1 {
		t.Errorf("%s; want without.num(\"count\") to be 1", without.raw)
	}

	id := here.send("ada", "bob@there", "hello", ada)
	here.round()
	got := there.receive("bob", bob, "")
	msg, _ := got.list("messages")[0].(map[string]any)
	if msg["from"] != "ada@here" || msg["encrypted_blob"] != "hello" || msg["sender_proven"] != true {
		t.Fatalf("%s; want msg[\"from\"] to be \"ada@here\", msg[\"encrypted_blob\"] to be \"hello\", msg[\"sender_proven\"] to be true", got.raw)
	}
	sent := here.want(here.get("/place/v1/relay/sent?relay_id="+id, ada), 200, "")
	if fate, _ := sent.list("messages")[0].(map[string]any); fate["status"] != "forwarded" {
		t.Errorf("%s; want fate[\"status\"] to be \"forwarded\"", sent.raw)
	}
	// And back, to the address it came from.
	there.send("bob", "ada@here", "hello yourself", bob)
	there.round()
	if got := blobs(here.receive("ada", ada, "")); cmp.Diff(got, []string{"hello yourself"}) != "" {
		t.Errorf("%v; want cmp.Diff(got, []string{\"hello yourself\"}) to be \"\"", got)
	}
	// Nobody speaks for a while: the agents are gone from the list.
	here.clock.pass(3 * time.Minute)
	here.want(here.get("/place/v1/agents/bob@there", ada), 404, "")
}

func TestAnAgentMayStayAtHome(t *testing.T) {
	here, there := pair(t)
	bob := there.prove(keyNo(1), "bob")
	there.want(there.post("/place/v1/register", bob, m{"id": "bob", "metadata": m{"federate": false}}), 200, "")
	here.round()
	here.want(here.get("/place/v1/agents/bob@there", ""), 404, "")
}

func TestAnOutageIsWaitedOutUntilTheMessageExpires(t *testing.T) {
	here, there := pair(t)
	ada, bob := here.prove(keyNo(0), "ada"), there.prove(keyNo(1), "bob")
	caller := &flaky{PeerTransport: faceplace.NewCaller(loopback)}
	t.Cleanup(caller.Close)
	// The first place's way out is cut, then mended.
	cut := newWorldOn(here, caller)
	caller.down.Store(true)
	cut.send("ada", "bob@there", "patience", ada)
	cut.round()
	if got := blobs(there.receive("bob", bob, "")); len(got) != 0 {
		t.Fatalf("%v; want len(got) to be 0", got)
	}
	peers, err := cut.place.Peers(t.Context(), operator)
	if err != nil || len(peers) != 1 || peers[0].Problem == "" || peers[0].Waiting != 1 {
		t.Errorf("%+v %v; want no error, len(peers) to be 1, peers[0].Problem not to be \"\", peers[0].Waiting to be 1", peers, err)
	}
	caller.down.Store(false)
	cut.clock.pass(time.Minute)
	there.clock.pass(time.Minute)
	cut.round()
	if got := blobs(there.receive("bob", there.prove(keyNo(1), "bob"), "")); cmp.Diff(got, []string{"patience"}) != "" {
		t.Errorf("%v; want cmp.Diff(got, []string{\"patience\"}) to be \"\"", got)
	}

	caller.down.Store(true)
	late := cut.send("ada", "bob@there", "too late", cut.prove(keyNo(0), "ada"))
	cut.clock.pass(2 * time.Hour)
	if err := cut.place.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	token := cut.prove(keyNo(0), "ada")
	sent := cut.want(cut.get("/place/v1/relay/sent?relay_id="+late, token), 200, "")
	if fate, _ := sent.list("messages")[0].(map[string]any); fate["status"] != "expired" {
		t.Errorf("%s; want fate[\"status\"] to be \"expired\"", sent.raw)
	}
}

func TestAFullQueueThereWaitsHere(t *testing.T) {
	here := federated(t, 1)
	there := federated(t, 2, func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.QueueLimit = 1 })
	here.peer("there", there)
	there.peer("here", here)
	ada, bob := here.prove(keyNo(0), "ada"), there.prove(keyNo(1), "bob")
	here.send("ada", "bob@there", "one", ada)
	here.send("ada", "bob@there", "two", ada)
	here.round()
	if got := blobs(there.receive("bob", bob, "")); cmp.Diff(got, []string{"one"}) != "" {
		t.Errorf("%v; want cmp.Diff(got, []string{\"one\"}) to be \"\"", got)
	}
	here.clock.pass(time.Minute)
	there.clock.pass(time.Minute)
	here.round()
	if got := blobs(there.receive("bob", there.prove(keyNo(1), "bob"), "")); cmp.Diff(got, []string{"two"}) != "" {
		t.Errorf("%v; want cmp.Diff(got, []string{\"two\"}) to be \"\"", got)
	}
}

func TestWhoMayNotWriteToAPeeredPlace(t *testing.T) {
	here, there := pair(t)
	ada := here.prove(keyNo(0), "ada")
	there.prove(keyNo(1), "bob")
	here.want(here.post("/place/v1/relay/send", "", envelope("eve", "bob@there", "x")), 401, "authentication_required")
	here.want(here.post("/place/v1/relay/send", ada, envelope("ada", "bob@nowhere", "x")), 404, "unknown_recipient")
	here.want(here.post("/place/v1/relay/send", ada, envelope("ada", "bob@there@again", "x")), 400, "invalid_id")
	here.want(here.post("/place/v1/register", "", m{"id": "x@there"}), 400, "invalid_id")
	id := here.send("ada", "nobody@there", "x", ada)
	here.round()
	sent := here.want(here.get("/place/v1/relay/sent?relay_id="+id, ada), 200, "")
	if fate, _ := sent.list("messages")[0].(map[string]any); fate["status"] != "refused" || fate["reason"] != "unknown_recipient" {
		t.Errorf("%s; want fate[\"status\"] to be \"refused\", fate[\"reason\"] to be \"unknown_recipient\"", sent.raw)
	}
	// The end of peering acts at once.
	waiting := here.send("ada", "bob@there", "x", ada)
	if err := here.place.RemovePeer(t.Context(), operator, "there"); err != nil {
		t.Fatal(err)
	}
	here.want(here.post("/place/v1/relay/send", ada, envelope("ada", "bob@there", "x")), 404, "unknown_recipient")
	sent = here.want(here.get("/place/v1/relay/sent?relay_id="+waiting, ada), 200, "")
	if fate, _ := sent.list("messages")[0].(map[string]any); fate["status"] != "refused" {
		t.Errorf("%s; want fate[\"status\"] to be \"refused\"", sent.raw)
	}
	there.want(there.post("/place/v1/relay/send", there.prove(keyNo(1), "bob"), envelope("bob", "ada@here", "x")), 201, "")
	there.round()
	peers, err := there.place.Peers(t.Context(), operator)
	if err != nil || peers[0].Problem == "" {
		t.Errorf("one-sided peering is not told: %+v %v", peers, err)
	}
}

// call makes a peer's call by hand.
func (w *world) call(key ed25519.PrivateKey, from, method, target string, body []byte, change func(*mmp.PeerCall, http.Header)) reply {
	w.t.Helper()
	c := mmp.PeerCall{Method: method, Target: target, Body: body, Time: mmp.Stamp(w.clock.now()), Nonce: mmp.NewNonce(), From: from, To: w.place.PlaceID()}
	header := http.Header{}
	if change != nil {
		change(&c, header)
	}
	sig, err := c.Sign(key)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+target, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for name, value := range map[string]string{mmp.HeaderPeer: from, mmp.HeaderTime: c.Time, mmp.HeaderNonce: c.Nonce, mmp.HeaderSignature: sig} {
		req.Header.Set(name, value)
	}
	for name := range header {
		req.Header.Set(name, header.Get(name))
	}
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	out := reply{status: res.StatusCode}
	if err := json.NewDecoder(res.Body).Decode(&out.body); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestForgedReplayedAndForeignCallsBetweenPlacesAreRefused(t *testing.T) {
	here, there := pair(t)
	there.prove(keyNo(1), "bob")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	from, agents := here.place.PlaceID(), "/place/v1/peer/agents"
	there.want(there.call(key, from, "GET", agents, nil, nil), 200, "")
	there.want(there.call(stranger, from, "GET", agents, nil, nil), 401, "peer_call_refused")
	there.want(there.call(key, "place_0000000000000000", "GET", agents, nil, nil), 401, "peer_call_refused")
	there.want(there.get(agents, ""), 401, "peer_call_refused")
	for name, change := range map[string]func(*mmp.PeerCall, http.Header){
		"another place": func(c *mmp.PeerCall, _ http.Header) { c.To = "place_0000000000000000" },
		"too old":       func(c *mmp.PeerCall, _ http.Header) { c.Time = mmp.Stamp(time.Now().Add(-2 * time.Minute)) },
		"in the future": func(c *mmp.PeerCall, _ http.Header) { c.Time = mmp.Stamp(time.Now().Add(2 * time.Minute)) },
		"another path":  func(c *mmp.PeerCall, _ http.Header) { c.Target = "/place/v1/peer/keys/bob" },
		"another body":  func(c *mmp.PeerCall, _ http.Header) { c.Body = []byte("x") },
		"another nonce": func(_ *mmp.PeerCall, h http.Header) { h.Set(mmp.HeaderNonce, mmp.NewNonce()) },
		"another time":  func(_ *mmp.PeerCall, h http.Header) { h.Set(mmp.HeaderTime, mmp.Stamp(time.Now().Add(time.Second))) },
	} {
		t.Run(name, func(t *testing.T) {
			w := *there
			w.t = t
			w.want(w.call(key, from, "GET", agents, nil, change), 401, "peer_call_refused")
		})
	}
	fixed := func(c *mmp.PeerCall, _ http.Header) { c.Nonce = strings.Repeat("n", 43) }
	there.want(there.call(key, from, "GET", agents, nil, fixed), 200, "")
	there.want(there.call(key, from, "GET", agents, nil, fixed), 401, "peer_call_refused")

	forward := func(from2, to string) []byte {
		body, err := mmp.Encode(place.Forwarded{RelayID: "relay_" + to, From: from2, To: to, Type: "x", Blob: "b", BlobHash: mmp.HashOf("b").Bare(), ExpiresAt: mmp.At(time.Now().Add(time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	relay := func(body []byte) reply { return there.call(key, from, "POST", "/place/v1/peer/relay", body, nil) }
	there.want(relay(forward("ada", "bob")), 201, "")
	there.want(relay(forward("ada", "bob")), 200, "") // the same again: no second message
	there.want(relay(forward("ada@elsewhere", "bob")), 400, "invalid_id")
	there.want(relay(forward("ada", "bob@third")), 400, "invalid_id")
	there.want(relay(forward("ada", "nobody")), 404, "unknown_recipient")
	there.want(relay([]byte("{")), 400, "invalid_json")
	lonely := newWorld(t)
	lonely.want(lonely.call(key, from, "GET", agents, nil, nil), 403, "federation_off")
}

func TestAPeerMustHaveANameAnAddressAndAKey(t *testing.T) {
	w, other := federated(t, 1), federated(t, 2)
	key := other.place.PlaceKey()
	for name, p := range map[string]place.Peer{
		"bad name":       {Name: "Über", URL: "https://x.example", Key: key},
		"no name":        {URL: "https://x.example", Key: key},
		"plain http":     {Name: "x", URL: "http://x.example", Key: key},
		"with a path":    {Name: "x", URL: "https://x.example/a", Key: key},
		"with a user":    {Name: "x", URL: "https://u@x.example", Key: key},
		"not an address": {Name: "x", URL: "x", Key: key},
		"bad key":        {Name: "x", URL: "https://x.example", Key: "ed25519:AAAA"},
		"itself":         {Name: "x", URL: "https://x.example", Key: w.place.PlaceKey()},
	} {
		if _, err := w.place.AddPeer(t.Context(), operator, p); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	w.peer("x", other)
	if _, err := w.place.AddPeer(t.Context(), operator, place.Peer{Name: "y", URL: other.url, Key: key}); err == nil {
		t.Error("one place under two names")
	}
}
