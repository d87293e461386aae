package meeting

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/mmp"
)

func ptr[T any](v T) *T { return &v }

func TestMessageIsValidated(t *testing.T) {
	for body, want := range map[string]string{
		``:                      "400 missing_fields Missing required fields: id, action, from, timestamp",
		`{"id":"m","from":"a"}`: "400 missing_fields Missing required fields: action, timestamp",
		`{"id":null,"action":"x","from":"a","timestamp":"t"}`:             "400 missing_fields Missing required fields: id",
		`{"id":"m","action":"x","from":"a","timestamp":"t"}`:              "",
		`{"id":"m","action":"x","from":"a@east","timestamp":"t"}`:         "",
		`{"id":"m","action":"x","from":"a b","timestamp":"t"}`:            "400 invalid_id Invalid agent id",
		`{"id":"m","action":"x","from":"a","timestamp":"t","payload":[]}`: "400 invalid_field Invalid field: payload",
		`{"id":7,"action":"x","from":"a","timestamp":"t"}`:                "400 invalid_field Invalid field: id",
		`{"id":"` + strings.Repeat("m", 129) + `"}`:                       "400 invalid_field Invalid field: id",
		`"hello"`: "400 invalid_json Invalid JSON",
		`{"id":"` + strings.Repeat("m", mmp.MaxMeetingBody) + `"}`: "413 body_too_large Request body too large",
	} {
		if _, err := DecodeMessage([]byte(body)); refusal(err) != want {
			t.Errorf("%.80s: %s; want refusal(err) to be %v", body, refusal(err), want)
		}
	}
	m, err := DecodeMessage([]byte(`{"id":"m","action":"x","from":"a","timestamp":"t","to":null,"extra":1}`))
	want := Message{ID: "m", Action: "x", From: "a", Timestamp: "t", ProtocolVersion: "1.0.0", Payload: mmp.Raw("{}")}
	if d := cmp.Diff(want, m); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestMadeMessagesAreValid(t *testing.T) {
	m, err := NewMessage(ActionGoodbye, "ada", "bob", GoodbyePayload{Reason: GoodbyeUserRequest}, vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := mmp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeMessage(raw)
	if d := cmp.Diff(m, back); d != "" || err != nil {
		t.Error(d, err)
	}
	reply, err := m.Reply(ActionIntroduce, "bob", nil, vectorTime)
	if err != nil || reply.Recipient() != "ada" || reply.RepliesTo() != m.ID || string(reply.Payload) != "{}" {
		t.Errorf("%+v %v; want no error, reply.Recipient() to be \"ada\", reply.RepliesTo() to be %v, string(reply.Payload) to be \"{}\"", reply, err, m.ID)
	}
}

func TestRelayShortForms(t *testing.T) {
	meta := RelayMeta{ID: "relay_1", From: "ada@east", To: "bob", Type: "offer_skill", CreatedAt: vectorTime}
	known := func(a string) bool { return slices.Contains([]string{"offer_skill", "introduce"}, a) }
	full := Message{ID: "relay_1", Action: "offer_skill", From: "ada@east", To: ptr("bob"), Timestamp: "2026-01-30T12:00:00Z", ProtocolVersion: "1.0.0"}
	with := func(change func(*Message)) *Message { m := full; change(&m); return &m }
	for name, c := range map[string]struct {
		plain, typ string
		want       FromRelay
	}{
		"text":           {"hello there", "note", FromRelay{Note: "hello there"}},
		"a JSON string":  {`"hello"`, "note", FromRelay{Note: "hello"}},
		"a number":       {`42`, "note", FromRelay{Note: "42"}},
		"a list":         {`[1, 2]`, "offer_skill", FromRelay{Note: "[1,2]"}},
		"unknown type":   {`{"text":"hi"}`, "chatter", FromRelay{Note: `{"text":"hi"}`}},
		"only a payload": {`{"payload":{"x":1}}`, "offer_skill", FromRelay{Message: with(func(m *Message) { m.Payload = mmp.Raw(`{"x":1}`) })}},
		"bare members":   {`{"skill_id":"s","id":"m1"}`, "offer_skill", FromRelay{Message: with(func(m *Message) { m.ID, m.Payload = "m1", mmp.Raw(`{"skill_id":"s"}`) })}},
		"sent_at":        {`{"sent_at":"2026-01-01T00:00:00Z"}`, "offer_skill", FromRelay{Message: with(func(m *Message) { m.Timestamp, m.Payload = "2026-01-01T00:00:00Z", mmp.Raw(`{}`) })}},
		"bare introduce": {`{"identity":{"name":"A"},"extensions":[]}`, "introduce", FromRelay{Message: with(func(m *Message) {
			m.Action, m.Payload = "introduce", mmp.Raw(`{"extensions":[],"identity":{"name":"A"}}`)
		})}},
		"own action":       {`{"action":"custom.act","from":"ada"}`, "chatter", FromRelay{Message: with(func(m *Message) { m.Action, m.Payload = "custom.act", mmp.Raw(`{}`) })}},
		"from with suffix": {`{"action":"x","from":"ada@east","payload":{}}`, "x", FromRelay{Message: with(func(m *Message) { m.Action, m.Payload = "x", mmp.Raw(`{}`) })}},
	} {
		at := meta
		at.Type = c.typ
		got, err := ReadRelayed(mmp.ReadContent([]byte(c.plain)), at, known)
		if err != nil {
			t.Errorf("%s: %v; want no error", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s; want no difference", name, d)
		}
	}
	for name, c := range map[string]struct {
		plain string
		want  error
	}{
		"another sender":    {`{"action":"x","from":"eve"}`, ErrInnerSender},
		"another's address": {`{"action":"x","from":"ada@west"}`, ErrInnerSender},
		"wrong type":        {`{"action":7}`, mmp.InvalidField("action")},
	} {
		if _, err := ReadRelayed(mmp.ReadContent([]byte(c.plain)), meta, known); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
}

func TestIntroductionsOfAllGenerations(t *testing.T) {
	old, err := ReadIntroduction([]byte(`{"identity":{"name":"A","instance_id":"a"},"capabilities":["introduce","goodbye"],"extensions":["skill_exchange"]}`))
	if err != nil || old.Name != "A" || old.InstanceID != "a" || len(old.Actions) != 2 || old.Extensions[0] != "skill_exchange" {
		t.Errorf("%+v %v", old, err)
	}
	now, err := ReadIntroduction([]byte(`{"identity":{"name":"A"},"capabilities":{"meeting_protocol_version":"2.1","supported_actions":["introduce"],
		"skill_formats":["markdown"],"extensions":["x","y"]},"extensions":["y"],"public_key":"P","identity_signature":"S"}`))
	if err != nil || now.Version != "2.1" || cmp.Diff([]string{"y", "x"}, now.Extensions) != "" || now.Static.Signature != "S" {
		t.Errorf("%+v %v", now, err)
	}
	for body, want := range map[string]string{
		`{"identity":"x"}`:                           "400 invalid_field Invalid field: identity",
		`{"identity":{"name":7}}`:                    "400 invalid_field Invalid field: identity.name",
		`{"capabilities":7}`:                         "400 invalid_field Invalid field: capabilities",
		`{"capabilities":{"supported_actions":"x"}}`: "400 invalid_field Invalid field: capabilities.supported_actions",
		``: "",
	} {
		if _, err := ReadIntroduction([]byte(body)); refusal(err) != want {
			t.Errorf("%s: %s; want refusal(err) to be %v", body, refusal(err), want)
		}
	}
}

func TestIntroduceAnswerReadsBothWays(t *testing.T) {
	w := newWorld(t)
	proof, err := mmp.SignIdentity(w.ada, mmp.Identity{Name: "Ada & Co", InstanceID: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	in := Introduction{Identity: proof.Identity, IdentitySignature: proof.Signature, Extensions: []string{"core"}, PublicKey: w.ada.Public().PEM()}
	m, err := NewMessage(ActionIntroduce, "ada", "", in, vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := mmp.Encode(NewIntroduceAnswer(m, in))
	if err != nil {
		t.Fatal(err)
	}
	asMessage, err := DecodeMessage(raw)
	if err != nil || asMessage.Action != ActionIntroduce {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"top level": raw, "payload": asMessage.Payload} {
		p, err := ReadIntroduction(text)
		if err != nil || p.InstanceID != "ada" || mmp.VerifyIdentity(w.ada.Public(), p.Static) != nil {
			t.Errorf("%s: %+v %v; want no error, p.InstanceID to be \"ada\", mmp.VerifyIdentity(w.ada.Public(), p.Static) to be nil", name, p, err)
		}
	}
	if !strings.Contains(string(raw), `"exchangeable_skillsets":[]`) || !HasAction(raw) || HasAction([]byte(`{"identity":{}}`)) {
		t.Errorf("%s; want \"\"exchangeable_skillsets\":[]\" in it, HasAction(raw), not HasAction([]byte(`{\"identity\":{}}`))", raw)
	}
}

func TestCompatibilityAndFallbacks(t *testing.T) {
	for _, c := range []struct {
		version string
		common  []string
		actions []string
		want    string
	}{
		{"1.0.0", []string{"skill_exchange"}, nil, CompatFull},
		{"1.9", []string{"meeting_protocol_skill_exchange"}, nil, CompatFull},
		{"", nil, []string{"introduce", "goodbye"}, CompatBasic},
		{"1.0.0", []string{"discussion"}, []string{"introduce"}, CompatMinimal},
		{"2.0.0", []string{"skill_exchange"}, nil, CompatIncompatible},
		{"0.9", nil, nil, CompatIncompatible},
	} {
		if got := Compatibility(c.version, c.common, c.actions); got != c.want {
			t.Errorf("%+v: %s; want %v", c, got, c.want)
		}
	}
	supports := func(names ...string) func(string) bool {
		return func(a string) bool { return slices.Contains(names, a) }
	}
	for _, c := range []struct {
		action string
		has    func(string) bool
		want   string
	}{
		{"debate", supports("debate"), "debate"},
		{"debate", supports("reflect"), "reflect"},
		{"discuss", supports(), "introduce"},
		{"negotiate", supports("offer_skill", "reflect"), "offer_skill"},
		{"negotiate", supports("reflect"), "introduce"},
		{"whatever", supports("reflect"), "introduce"},
	} {
		if got := Fallback(c.action, c.has); got != c.want {
			t.Errorf("%s: %s; want %v", c.action, got, c.want)
		}
	}
}

func TestResults(t *testing.T) {
	m := Message{ID: "m1", Action: "debate", From: "ada", ProtocolVersion: "1.0.0", Payload: mmp.Raw("{}")}
	r, err := m.UnsupportedResult("bob", CoreActions(), vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := mmp.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got["error"] != "Unsupported action: debate" || got["message"] != "Unknown action: debate" || got["status"] != "error" || got["from"] != "ada" {
		t.Errorf("%s", raw)
	}
	reply, ok := r.Answer()
	if !ok || reply.Action != ActionError || reply.RepliesTo() != "m1" {
		t.Errorf("%+v; want ok, reply.Action to be %v, reply.RepliesTo() to be \"m1\"", reply, ActionError)
	}
	p, err := reply.ReadError()
	if err != nil || p.ErrorCode != CodeUnsupportedAction || !p.Recoverable ||
		string(p.Details) != `{"supported_actions":["introduce","goodbye","error"],"unsupported_action":"debate"}` {
		t.Errorf("%+v %v", p, err)
	}
	for name, c := range map[string]struct {
		r    Result
		want string
	}{
		"accept nothing": {m.AcceptResult(nil), `{"action":"debate","from":"ada","note":"No pending offer matches this message","status":"received","suggested_response":null}`},
		"goodbye":        {m.GoodbyeResult(GoodbyePayload{"timeout", ""}), `{"action":"debate","from":"ada","reason":"timeout","session_complete":true,"status":"received","suggested_response":null,"summary":""}`},
		"decline":        {m.DeclineResult(DeclinePayload{Reason: DeclineUser}), `{"action":"debate","from":"ada","reason":"user_declined","status":"declined","suggested_response":null}`},
		"hash":           {m.ContentRefused(SkillHashMismatch, nil), `{"action":"debate","error":"Content hash mismatch - skill may be corrupted","from":"ada","reason":"hash_mismatch","status":"error","suggested_response":null}`},
		"reflect":        {m.ReflectResult(ReflectPayload{Reflection: "good"}), `{"action":"debate","from":"ada","interaction_complete":true,"reflection":"good","status":"received","suggested_response":null}`},
		"request":        {m.RequestResult(RequestSkillPayload{SkillID: "s"}, nil), `{"action":"debate","from":"ada","matches":[],"request":{"skill_id":"s"},"status":"received","suggested_response":"offer_skill_or_decline"}`},
		"error":          {m.ErrorResult(ErrorPayload{ErrorCode: CodeTimeout}), `{"action":"debate","details":null,"error_code":"timeout","from":"ada","message":"","recoverable":false,"status":"received","suggested_response":null}`},
	} {
		raw, err := mmp.Encode(c.r)
		if err != nil || string(raw) != c.want {
			t.Errorf("%s: %s %v; want no error, string(raw) to be %v", name, raw, err, c.want)
		}
	}
	peer := &PeerIntroduction{Identity: mmp.Raw(`{"name":"A"}`), Extensions: []string{"meeting_protocol_skill_exchange"}}
	intro := m.IntroduceResult(peer, []string{"skill_exchange"}, reply)
	if intro.Fields["compatibility"] != CompatFull || intro.Status != ResultReceived {
		t.Errorf("%+v; want intro.Fields[\"compatibility\"] to be %v, intro.Status to be %v", intro, CompatFull, ResultReceived)
	}
}

func TestErrorsAndGoodbyesAreNeverAnswered(t *testing.T) {
	for _, action := range []string{ActionError, ActionGoodbye} {
		r := Result{Action: action, Suggested: Message{Action: ActionError}}
		if _, ok := r.Answer(); ok {
			t.Errorf("%s was answered", action)
		}
	}
	if _, ok := (Result{Action: "x", Suggested: HintReflect}).Answer(); ok {
		t.Error("a hint is no message")
	}
}

func TestPayloadReaders(t *testing.T) {
	m := func(payload string) Message { return Message{Payload: mmp.Raw(payload)} }
	offer, err := m(`{"skill_id":"s","name":"S","format":"ruby","tags":["a"],"content_hash":null}`).ReadOfferSkill()
	if err != nil || offer.SkillName != "S" || offer.SkillFormat != "ruby" {
		t.Errorf("%+v %v; want no error, offer.SkillName to be \"S\", offer.SkillFormat to be \"ruby\"", offer, err)
	}
	if f := m(`{"skill_format":"ruby","tags":7}`).OfferedFormat(); f != "ruby" {
		t.Error("the format is judged before any other field")
	}
	if _, err := m(`{"skill_id":7}`).ReadOfferSkill(); refusal(err) != "400 invalid_field Invalid field: payload.skill_id" {
		t.Error(err)
	}
	if _, err := m(`{"provenance":{"chain":"x"}}`).ReadSkillContent(); refusal(err) != "400 invalid_field Invalid field: payload.provenance.chain" {
		t.Error(err)
	}
	if _, err := m(`{"reason":[]}`).ReadDecline(); err == nil {
		t.Error("reason")
	}
	if _, err := m(`{"recoverable":"yes"}`).ReadError(); err == nil {
		t.Error("recoverable")
	}
	if g, err := m(`{"reason":"maintenance"}`).ReadGoodbye(); err != nil || g.Reason != GoodbyeMaintenance {
		t.Error(err)
	}
	if r, err := m(`{"reflection":"x"}`).ReadReflect(); err != nil || r.Reflection != "x" {
		t.Error(err)
	}
	if r, err := m(`{"query":"x"}`).ReadRequestSkill(); err != nil || r.Description != "x" {
		t.Error(err)
	}
	if !IsCore("error") || IsCore("accept") {
		t.Error("error must be an action of the core, and accept must not")
	}
}
