package faults_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
	"parley.internal/test/roomwire"
)

// A hub that is killed keeps what it acknowledged of a room: its policy, grants,
// bans and presences. The numbers never go back, and what was only live is
// announced as a gap.
func TestARoomSurvivesKill9(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{})
	if a := h.Do("POST", "/api/rooms", `{"room":"r","policy":{"humans":{"mode":"open"}}}`); a.Status != http.StatusCreated {
		t.Fatalf("%+v; want a.Status to be %v", a, http.StatusCreated)
	}
	host := roomwire.Dial(t, h.URL, "r", h.Owner).Join(map[string]any{"name": "Host"})
	ann := roomwire.Dial(t, h.URL, "r", "").Join(map[string]any{"name": "Ann"})
	bad := roomwire.Dial(t, h.URL, "r", "").Join(map[string]any{"name": "Bad", "token": "stable"})
	grant := map[string]any{"perceive": []string{"read-chat", "read-roster"}, "act": []string{}}
	if ack, nak := host.Ask(map[string]any{"t": "grant", "id": ann.Self.ID, "grant": grant}); ack == nil {
		t.Fatalf("%+v; want ack not to be nil", nak)
	}
	if ack, nak := host.Ask(map[string]any{"t": "mod", "op": "kick", "target": bad.Self.ID}); ack == nil {
		t.Fatalf("%+v; want ack not to be nil", nak)
	}
	var seq uint64
	for range 5 {
		seq = host.Say("acknowledged")
	}
	roomwire.Want(ann, func(f *kibitz.From) bool { return f.Seq == seq })
	h.Kill9()
	host.Gone()
	ann.Gone()
	h.Restart()

	back := roomwire.Dial(t, h.URL, "r", "").Resume(ann.Self.Resume, seq)
	if back.Self.ID != ann.Self.ID || back.Self.Grant.String() != "read-chat,read-roster" {
		t.Errorf("%+v; want back.Self.ID to be %v, back.Self.Grant.String() to be \"read-chat,read-roster\"", back.Self, ann.Self.ID)
	}
	roomwire.Want[*kibitz.Live](back)
	if _, nak := back.Ask(roomwire.Chat("still not")); nak == nil || nak.Code != kibitz.ActDenied {
		t.Errorf("%+v; want nak not to be nil, nak.Code to be %v", nak, kibitz.ActDenied)
	}
	again := roomwire.Dial(t, h.URL, "r", h.Owner).Resume(host.Self.Resume, 0)
	if next := again.Say("after"); next <= seq {
		t.Errorf("the numbers went back: %d after %d", next, seq)
	}
	if f := roomwire.Want[*kibitz.From](back); f.From != host.Self.ID {
		t.Errorf("%+v; want f.From to be %v", f, host.Self.ID)
	}
	barred := roomwire.Dial(t, h.URL, "r", "")
	barred.Send(map[string]any{"t": "voice", "on": true, "token": "stable"})
	if l := roomwire.Want[*kibitz.Lobby](barred); l.Code != kibitz.Kicked {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.Kicked)
	}
	var bans struct {
		Bans []struct{ ID string } `json:"bans"`
	}
	if err := json.Unmarshal(h.Do("GET", "/api/rooms/r/bans", "").Body, &bans); err != nil || len(bans.Bans) != 1 {
		t.Errorf("%+v %v; want no error, len(bans.Bans) to be 1", bans, err)
	}
	if report, err := hubapi.Call(t.Context(), h.Client(), rest.VerifyAudit, rest.None{}); err != nil || !report.OK {
		t.Errorf("%+v %v; want no error, report.OK", report, err)
	}
}
