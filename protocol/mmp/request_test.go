package mmp_test

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

// refusal is what a client sees: "status code text".
func refusal(err error) string {
	var e mmp.Error
	if !errors.As(err, &e) {
		if err == nil {
			return ""
		}
		return "untyped: " + err.Error()
	}
	return strings.Join([]string{itoa(e.Status), e.Code, e.Text}, " ")
}

func itoa(n int) string {
	return string(rune('0'+n/100)) + string(rune('0'+n/10%10)) + string(rune('0'+n%10))
}

func TestRegisterIDs(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"x","agent_id":"y","instance_id":"z"}`:     "x",
		`{"id":null,"agent_id":"y","instance_id":"z"}`:    "y",
		`{"id":"","agent_id":"y"}`:                        "y",
		`{"instance_id":"abc123"}`:                        "agent_abc123",
		`{"id":"agent_abc","public_endpoint":"https://"}`: "agent_abc",
	} {
		r, err := board.DecodeRegister([]byte(body))
		if err != nil || r.ID != want || r.Made {
			t.Errorf("%s: %+v %v; want no error, r.ID to be %v, not r.Made", body, r, err, want)
		}
	}
	r, err := board.DecodeRegister(nil)
	if err != nil || !r.Made || !strings.HasPrefix(r.ID, "agent_") || r.Name != "Unknown" || r.Scope != "general" || r.Signed() {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRegisterKeepsWhatWasSent(t *testing.T) {
	body := `{"name":"My Agent","instance_id":"abc","capabilities": ["introduce", "offer_skill"],
		"public_endpoint":"https://a.example/mmp","metadata":{"x": 1.50},"unknown":{"deep":[1]},
		"public_key":"PEM","identity":{"b": "\u00e9", "a": 1},"identity_signature":"c2ln","proof":{"nonce":"n","signature":"s","more":1}}`
	r, err := board.DecodeRegister([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := &board.Registration{
		ID: "agent_abc", Name: "My Agent", Scope: "general", Capabilities: mmp.Raw(`["introduce","offer_skill"]`),
		Endpoint: "https://a.example/mmp", Metadata: mmp.Raw(`{"x":1.50}`), PublicKey: "PEM",
		Static: mmp.Static{mmp.Raw(`{"b":"\u00e9","a":1}`), "c2ln"}, Proof: &mmp.Proof{"n", "s"},
	}
	if d := cmp.Diff(want, r); d != "" || !r.Signed() {
		t.Errorf("d is %v; want no difference, r.Signed()", d)
	}
}

func TestCapabilityNamesOfBothForms(t *testing.T) {
	for raw, want := range map[string][]string{
		`["a","b",7]`:                            {"a", "b"},
		`{"supported_actions":["a"],"n":1}`:      {"a"},
		`{"supported_actions":["a"],"e2e":true}`: {"a", "e2e"},
		`"x"`:                                    nil,
		``:                                       nil,
	} {
		if d := cmp.Diff(want, board.CapabilityNames(mmp.Raw(raw))); d != "" {
			t.Errorf("%s: %s; want no difference", raw, d)
		}
	}
}

func TestRequestsAreRefusedInTheWordsOfTheTables(t *testing.T) {
	w := mmp.NewWorld(t)
	key := strconv.Quote(w.BobSPKI)
	reg := func(b, _ string) error { _, err := board.DecodeRegister([]byte(b)); return err }
	ref := func(b, tok string) error { _, err := board.DecodeAgentRef([]byte(b), tok); return err }
	post := func(b, tok string) error { _, err := board.DecodePost([]byte(b), tok); return err }
	remove := func(b, tok string) error { _, _, err := board.DecodeRemove([]byte(b), tok); return err }
	needs := func(b, tok string) error { _, err := board.DecodeNeeds([]byte(b), tok); return err }
	keys := func(b, tok string) error { _, err := mmp.DecodeKey([]byte(b), tok); return err }
	send := func(b, tok string) error { _, err := relay.DecodeSend([]byte(b), "", tok); return err }
	ack := func(b, tok string) error { _, err := relay.DecodeAck([]byte(b), tok); return err }
	deposit := func(b, _ string) error { _, err := board.DecodeDeposit([]byte(b), ""); return err }
	update := func(b, _ string) error { _, err := board.DecodeDeposit([]byte(b), "s1"); return err }
	withdraw := func(b, _ string) error { _, err := board.DecodeWithdraw([]byte(b)); return err }
	attest := func(b, _ string) error { _, err := board.DecodeAttest([]byte(b)); return err }
	skill := func(b, _ string) error { _, err := meeting.DecodeSkillRef([]byte(b), true); return err }
	reply := func(b, _ string) error { _, err := meeting.DecodeReply([]byte(b)); return err }
	start := func(b, _ string) error { _, err := meeting.DecodeSessionStart([]byte(b), ""); return err }
	blob, hash := `"aGk="`, strconv.Quote(mmp.HashOf("aGk=").Prefixed())
	for _, c := range []struct {
		read        func(body, token string) error
		body, token string
		want        string
	}{
		{reg, `[]`, "", "400 invalid_json Invalid JSON"},
		{reg, `{"a":`, "", "400 invalid_json Invalid JSON"},
		{reg, `{} x`, "", "400 invalid_json Invalid JSON"},
		{reg, `{"a":1,"a":2}`, "", "400 invalid_json Invalid JSON"},
		{reg, strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100), "", "400 invalid_json Invalid JSON"},
		{reg, `{"metadata":{"n":1e999999}}`, "", "400 invalid_json Invalid JSON"},
		{reg, `{"name":7}`, "", "400 invalid_field Invalid field: name"},
		{reg, `{"name":"` + strings.Repeat("é", 201) + `"}`, "", "400 invalid_field Invalid field: name"},
		{reg, `{"name":"` + strings.Repeat("é", 200) + `"}`, "", ""},
		{reg, `{"capabilities":"x"}`, "", "400 invalid_field Invalid field: capabilities"},
		{reg, `{"metadata":{"x":"` + strings.Repeat("a", mmp.MaxRawField) + `"}}`, "", "400 invalid_field Invalid field: metadata"},
		{reg, `{"identity":"x"}`, "", "400 invalid_field Invalid field: identity"},
		{reg, `{"proof":{"nonce":1}}`, "", "400 invalid_field Invalid field: proof.nonce"},
		{reg, `{"id":"a@b"}`, "", "400 invalid_id Invalid agent id"},
		{reg, `{"instance_id":"` + strings.Repeat("a", 123) + `"}`, "", "400 invalid_id Invalid agent id"},
		{ref, ``, "", "400 missing_field agent_id is required"},
		{ref, `{"agent_id":null}`, "", "400 missing_field agent_id is required"},
		{ref, `{"agent_id":"a b"}`, "", "400 invalid_id Invalid agent id"},
		{ref, `{}`, "ada", ""},
		{ref, `{"agent_id":"bob"}`, "ada", "403 not_your_agent The token belongs to another agent"},
		{post, `{}`, "", "400 missing_field agent_id is required"},
		{post, `{"agent_id":"a","type":"spam"}`, "", "400 invalid_type Invalid type. Must be one of: offer_skill, request_skill, announcement"},
		{post, `{"agent_id":"a"}`, "", "400 invalid_type Invalid type. Must be one of: offer_skill, request_skill, announcement"},
		{post, `{"agent_id":"a","type":"announcement","tags":"x"}`, "", "400 invalid_field Invalid field: tags"},
		{post, `{"agent_id":"a","type":"announcement","tags":["` + strings.Repeat("t", 65) + `"]}`, "", "400 invalid_field Invalid field: tags"},
		{post, `{"agent_id":"a","type":"announcement","tags":[` + strings.Repeat(`"t",`, 20) + `"t"]}`, "", "400 invalid_field Invalid field: tags"},
		{post, `{"agent_id":"a","type":"announcement","ttl_hours":"1"}`, "", "400 invalid_field Invalid field: ttl_hours"},
		{post, `{"agent_id":"a","type":"announcement","ttl_hours":0}`, "", "400 invalid_field Invalid field: ttl_hours"},
		{remove, `{"agent_id":"a"}`, "", "400 missing_field posting_id is required"},
		{remove, `{"posting_id":"p"}`, "", "400 missing_field agent_id is required"},
		{remove, `{"posting_id":"p"}`, "ada", ""},
		{needs, `{"agent_id":"a","needs":[7]}`, "", "400 invalid_field Invalid field: needs"},
		{needs, `{"agent_id":"a","needs":[{"name":7}]}`, "", "400 invalid_field Invalid field: needs.name"},
		{keys, `{}`, "", "400 missing_field agent_id is required"},
		{keys, `{"agent_id":"a"}`, "", "400 missing_field public_key is required"},
		{keys, `{"agent_id":"a","public_key":"junk"}`, "", "400 invalid_key public_key must be a PEM RSA public key of 2048 to 8192 bits"},
		{keys, `{"agent_id":"a","public_key":` + key + `}`, "", ""},
		{keys, `{"agent_id":"a","public_key":` + key + `,"entry":"x"}`, "", "400 invalid_entry The key entry does not fit its signature, agent or key"},
		{keys, `{"agent_id":"bob","public_key":` + key + `,"entry":"` + w.Entry + `","entry_signature":"` + w.EntrySignature + `"}`, "", ""},
		{keys, `{"agent_id":"eve","public_key":` + key + `,"entry":"` + w.Entry + `","entry_signature":"` + w.EntrySignature + `"}`, "", "400 invalid_entry The key entry does not fit its signature, agent or key"},
		{send, `{}`, "", "400 missing_field from is required"},
		{send, `{}`, "ada", "400 missing_field to is required"},
		{send, `{"from":"a"}`, "", "400 missing_field to is required"},
		{send, `{"from":"a","to":"b"}`, "", "400 missing_field encrypted_blob is required"},
		{send, `{"from":"a","to":"b","encrypted_blob":""}`, "", "400 missing_field blob_hash is required"},
		{send, `{"from":"a","to":"b","encrypted_blob":"","blob_hash":"x"}`, "", "400 empty_blob Encrypted blob cannot be empty"},
		{send, `{"from":"a","to":"b","encrypted_blob":` + blob + `,"blob_hash":"x"}`, "", "400 hash_mismatch blob_hash does not fit encrypted_blob"},
		{send, `{"from":"a","to":"b@east","encrypted_blob":` + blob + `,"blob_hash":` + hash + `}`, "", ""},
		{send, `{"from":"a@east","to":"b","encrypted_blob":` + blob + `,"blob_hash":` + hash + `}`, "", "400 invalid_id Invalid agent id"},
		{send, `{"from":"a","to":"b","encrypted_blob":"` + strings.Repeat("A", mmp.MaxBlob+1) + `","blob_hash":"x"}`, "", "400 message_too_large Message exceeds maximum size (1048576 bytes)"},
		{send, `{"from":"a","to":"b","encrypted_blob":7}`, "", "400 invalid_field Invalid field: encrypted_blob"},
		{ack, `{"ids":"x"}`, "ada", "400 invalid_field Invalid field: ids"},
		{ack, `{"ids":["x"]}`, "", "400 missing_field agent_id is required"},
		{deposit, `{}`, "", "400 missing_field skill_id is required"},
		{deposit, `{"skill_id":"a b","content":"x"}`, "", "400 invalid_field Invalid field: skill_id"},
		{deposit, `{"skill_id":"s1"}`, "", "400 missing_field content is required"},
		{deposit, `{"skill_id":"s1","content":"x","provenance":{"chain":["a b"]}}`, "", "400 invalid_field Invalid field: provenance.chain"},
		{deposit, `{"skill_id":"s1","content":"x","provenance":{"hop_count":-1}}`, "", "400 invalid_field Invalid field: provenance.hop_count"},
		{update, `{"content":"x"}`, "", ""},
		{update, `{"skill_id":"s2","content":"x"}`, "", "400 invalid_field Invalid field: skill_id"},
		{withdraw, ``, "", "400 reason_required reason is required"},
		{withdraw, `{"reason":"old"}`, "", ""},
		{attest, `{"skill_id":"s"}`, "", "400 missing_fields skill_id, owner_agent_id and claim are required"},
		{attest, `{"skill_id":"s","owner_agent_id":"a","claim":"` + strings.Repeat("é", 101) + `"}`, "", "400 invalid_field Invalid field: claim"},
		{skill, `{"to":"a"}`, "", "400 missing_field skill_id is required"},
		{skill, `{"skill_id":"a"}`, "", "400 missing_field to is required"},
		{reply, `{"in_reply_to":"m"}`, "", "400 missing_field to is required"},
		{reply, `{"to":"a"}`, "", "400 missing_field in_reply_to is required"},
		{start, `{}`, "", "400 missing_field peer_id is required"},
	} {
		if got := refusal(c.read(c.body, c.token)); got != c.want {
			t.Errorf("%.120s (token %q):\n got %s\nwant %s", c.body, c.token, got, c.want)
		}
	}
}

func TestPostingTTL(t *testing.T) {
	for ttl, want := range map[string]time.Duration{
		``: 24 * time.Hour, `,"ttl_hours":null`: 24 * time.Hour, `,"ttl_hours":1`: time.Hour,
		`,"ttl_hours":0.5`: 30 * time.Minute, `,"ttl_hours":9000`: 720 * time.Hour, `,"ttl_hours":1e300`: 720 * time.Hour,
	} {
		p, err := board.DecodePost([]byte(`{"agent_id":"a","type":"announcement"`+ttl+`}`), "")
		if err != nil || p.TTL != want || p.SkillFormat != "markdown" {
			t.Errorf("%s: %+v %v; want no error, p.TTL to be %v, p.SkillFormat to be \"markdown\"", ttl, p, err, want)
		}
	}
}

func TestQueries(t *testing.T) {
	q := func(s string) url.Values { v, _ := url.ParseQuery(s); return v }
	agents, err := board.ParseAgentsQuery(q("scope=x&include_self=false"))
	if err != nil || agents.IncludeSelf || !agents.IncludeRemote || agents.Scope != "x" {
		t.Error(agents, err)
	}
	browse, err := board.ParseBrowseQuery(q("tags=a,%20b,&limit=9999"))
	if err != nil || browse.Limit != 500 || cmp.Diff([]string{"a", "b"}, browse.Tags) != "" {
		t.Error(browse, err)
	}
	r, err := relay.ParseReceiveQuery(q("agent_id=ada&ack=manual&lease=1&wait=99999999999999999999"), "")
	if err != nil || !r.ManualAck || r.Lease != mmp.MinLease || r.Wait != mmp.MaxWait || r.Limit != 10 {
		t.Error(r, err)
	}
	preview, err := board.ParsePreviewQuery(q("first_lines=0"))
	if err != nil || preview.Lines != 1 {
		t.Error(preview, err)
	}
	for name, c := range map[string]struct {
		read func(url.Values) error
		want string
	}{
		"limit=x":                            {func(v url.Values) error { _, err := board.ParseBrowseQuery(v); return err }, "400 invalid_param Invalid parameter: limit"},
		"limit=-1":                           {func(v url.Values) error { _, err := board.ParseAgentsQuery(v); return err }, "400 invalid_param Invalid parameter: limit"},
		"limit=1.5":                          {func(v url.Values) error { _, err := board.ParseAuditQuery(v); return err }, "400 invalid_param Invalid parameter: limit"},
		"since=yesterday":                    {func(v url.Values) error { _, err := board.ParseAuditQuery(v); return err }, "400 invalid_param Invalid parameter: since"},
		"hours=x":                            {func(v url.Values) error { _, err := board.ParseHours(v); return err }, "400 invalid_param Invalid parameter: hours"},
		"include_self=may":                   {func(v url.Values) error { _, err := board.ParseAgentsQuery(v); return err }, "400 invalid_param Invalid parameter: include_self"},
		"ack=maybe&agent_id=a":               {func(v url.Values) error { _, err := relay.ParseReceiveQuery(v, ""); return err }, "400 invalid_param Invalid parameter: ack"},
		"limit=1":                            {func(v url.Values) error { _, err := relay.ParseReceiveQuery(v, ""); return err }, "400 missing_field agent_id is required"},
		"agent_id=bob":                       {func(v url.Values) error { _, err := relay.ParseSentQuery(v, "ada"); return err }, "403 not_your_agent The token belongs to another agent"},
		"agent_id=a%20b":                     {func(v url.Values) error { _, err := board.ParseAgentQuery(v, ""); return err }, "400 invalid_id Invalid agent id"},
		"lines=3":                            {func(v url.Values) error { _, err := meeting.ParseSkillQuery(v); return err }, "400 missing_param skill_id is required"},
		"peer_id=a&limit=2":                  {func(v url.Values) error { _, err := meeting.ParseHistoryQuery(v); return err }, ""},
		"since=2026-01-30T12:00:00Z&limit=5": {func(v url.Values) error { _, err := board.ParseAuditQuery(v); return err }, ""},
	} {
		if got := refusal(c.read(q(name))); got != c.want {
			t.Errorf("%s: %s; want %v", name, got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, s := range []string{
		"2026-01-30T12:00:00Z", "2026-01-30T12:00:00.999Z", "2026-01-30T13:00:00+01:00", "2026-01-30T12:00:00.5",
		"2026-01-30 12:00:00 UTC", "2026-01-30 12:00:00", "2026-01-30 13:00:00 +0100",
	} {
		at, err := mmp.ParseTime(s)
		if err != nil || mmp.Stamp(at) != "2026-01-30T12:00:00Z" {
			t.Errorf("%s: %v %v; want no error, mmp.Stamp(at) to be \"2026-01-30T12:00:00Z\"", s, at, err)
		}
	}
	if _, err := mmp.ParseTime("soon"); err == nil {
		t.Error("soon")
	}
	raw, err := mmp.Encode(board.HeartbeatAnswer{AgentID: "a", Status: board.StatusActive, LastSeen: mmp.At(mmp.VectorTime)})
	if err != nil || string(raw) != `{"agent_id":"a","status":"active","last_seen":"2026-01-30T12:00:00Z","expires_at":null}` {
		t.Errorf("%s %v", raw, err)
	}
	var back board.HeartbeatAnswer
	if err := mmp.Decode([]byte(`{"last_seen":"2026-01-30T12:00:00.123+00:00","expires_at":"junk","new":[]}`), &back); err != nil ||
		!back.LastSeen.Truncate(time.Second).Equal(mmp.VectorTime) || !back.ExpiresAt.IsZero() {
		t.Errorf("%+v %v; want no error, back.LastSeen.Truncate(time.Second).Equal(mmp.VectorTime), back.ExpiresAt.IsZero()", back, err)
	}
}

func TestAnswersCarryNullWhereEmpty(t *testing.T) {
	raw, err := mmp.Encode(board.Agent{ID: "a", Capabilities: mmp.Raw(`["\u00e9"]`)})
	if err != nil || !strings.Contains(string(raw), `"endpoint":null`) || !strings.Contains(string(raw), `"metadata":null`) ||
		!strings.Contains(string(raw), `"capabilities":["\u00e9"]`) {
		t.Errorf("%s %v; want no error, \"\"endpoint\":null\" in it, \"\"metadata\":null\" in it, \"\"capabilities\":[\"\\u00e9\"]\" in it", raw, err)
	}
	raw, err = mmp.Encode(relay.ReceiveAnswer{})
	if err != nil || string(raw) != `{"messages":[],"count":0,"more":false}` {
		t.Errorf("%s %v; want no error, string(raw) to be \"{\"messages\":[],\"count\":0,\"more\":false}\"", raw, err)
	}
	raw, err = mmp.Encode(board.RegisterAnswer{AgentID: "a", Status: board.StatusRegistered})
	if err != nil || strings.Contains(string(raw), "session") {
		t.Errorf("%s %v; want no error, not \"session\" in it", raw, err)
	}
}
