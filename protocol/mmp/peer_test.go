package mmp

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPeerCallsAreBoundToEverything(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	call := PeerCall{Method: "POST", Target: "/place/v1/peer/relay?x=1", Body: []byte("{}"), Time: Stamp(vectorTime), Nonce: "n", From: "p1", To: "p2"}
	sig, err := call.Sign(private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := call.text()
	if err != nil || string(text) != "POST\n/place/v1/peer/relay?x=1\n"+HashOf("{}").Bare()+"\n2026-01-30T12:00:00Z\nn\np1\np2" {
		t.Errorf("%q %v", text, err)
	}
	for name, c := range map[string]struct {
		change func(*PeerCall)
		now    time.Time
		ok     bool
	}{
		"fits": {func(*PeerCall) {}, vectorTime, true}, "a minute late": {func(*PeerCall) {}, vectorTime.Add(time.Minute), true},
		"later": {func(*PeerCall) {}, vectorTime.Add(61 * time.Second), false}, "early": {func(*PeerCall) {}, vectorTime.Add(-61 * time.Second), false},
		"method": {func(c *PeerCall) { c.Method = "GET" }, vectorTime, false}, "target": {func(c *PeerCall) { c.Target += "0" }, vectorTime, false},
		"body": {func(c *PeerCall) { c.Body = nil }, vectorTime, false}, "time": {func(c *PeerCall) { c.Time = "2026-01-30T12:00:01Z" }, vectorTime, false},
		"nonce": {func(c *PeerCall) { c.Nonce = "m" }, vectorTime, false}, "from": {func(c *PeerCall) { c.From = "p3" }, vectorTime, false},
		"to": {func(c *PeerCall) { c.To = "p3" }, vectorTime, false}, "line break": {func(c *PeerCall) { c.Nonce, c.From = "n\np1", "" }, vectorTime, false},
	} {
		changed := call
		c.change(&changed)
		if err := changed.Verify(public, sig, c.now); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrPeerCall) {
			t.Errorf("%s: %v", name, err)
		}
	}
	back, err := ParsePeerKey(FormatPeerKey(public))
	if err != nil || !back.Equal(public) {
		t.Error(err)
	}
	for _, bad := range []string{"", "ed25519:", "ed25519:AAAA", strings.TrimPrefix(FormatPeerKey(public), "ed25519:")} {
		if _, err := ParsePeerKey(bad); !errors.Is(err, ErrBadKey) {
			t.Errorf("%q: %v; want ErrBadKey", bad, err)
		}
	}
}
