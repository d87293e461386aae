package viber_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/viber"
)

func violationOf(t testing.TB, err error) *viber.Violation {
	t.Helper()
	v, ok := errors.AsType[*viber.Violation](err)
	if !ok {
		t.Fatalf("%v is no violation", err)
	}
	return v
}

func TestEnvelopesAreJudged(t *testing.T) {
	long := strings.Repeat("é", viber.MaxID)
	for _, c := range []struct {
		frame  string
		reason viber.Reason // empty = fine
		id     string
	}{
		{`{"type":"ping","id":"1","payload":{}}`, "", "1"},
		{`{"type":"ping","id":"1","timestamp":"2024-01-15T10:30:00.000Z","payload":{}}`, "", "1"},
		{`{"type":"ping","id":"1","timestamp":"2024-01-15T10:30:00+0100","payload":{}}`, "", "1"},
		{`{"type":"ping","id":"1","timestamp":"2024-01-15","payload":{}}`, "", "1"},
		{`{"type":"ping","id":"1","payload":{"x":1},"future":[{}]}`, "", "1"},
		{`{"type":"ping","id":"` + long + `","payload":{}}`, "", long},
		{` {"type":"ping","id":"1","payload":{}} `, "", "1"},

		{``, viber.ReasonBadJSON, ""},
		{`hello`, viber.ReasonBadJSON, ""},
		{`{"type":"ping","id":"1","payload":{}`, viber.ReasonBadJSON, ""},
		{`{"type":"ping","id":"1","payload":{}}{}`, viber.ReasonBadJSON, ""},
		{`{"type":"ping","type":"ping","id":"1","payload":{}}`, viber.ReasonBadJSON, ""},
		{`{"type":"ping","id":"1","payload":{"a":{"b":1,"b":2}}}`, viber.ReasonBadJSON, ""},
		{"{\"type\":\"ping\",\"id\":\"1\",\"payload\":{\"a\":\"\xff\"}}", viber.ReasonBadJSON, ""},
		{`{"type":"ping","id":"1","payload":{"a":"\ud800"}}`, viber.ReasonBadJSON, ""},
		{`[1,`, viber.ReasonBadJSON, ""},

		{`[]`, viber.ReasonBadEnvelope, ""},
		{`null`, viber.ReasonBadEnvelope, ""},
		{`"ping"`, viber.ReasonBadEnvelope, ""},
		{`{}`, viber.ReasonBadEnvelope, ""},
		{`{"id":"1","payload":{}}`, viber.ReasonBadEnvelope, "1"},
		{`{"type":"","id":"1","payload":{}}`, viber.ReasonBadEnvelope, "1"},
		{`{"type":7,"id":"1","payload":{}}`, viber.ReasonBadEnvelope, "1"},
		{`{"type":"ping","payload":{}}`, viber.ReasonBadEnvelope, ""},
		{`{"type":"ping","id":"","payload":{}}`, viber.ReasonBadEnvelope, ""},
		{`{"type":"ping","id":1,"payload":{}}`, viber.ReasonBadEnvelope, ""},
		{`{"type":"ping","id":"x` + long + `","payload":{}}`, viber.ReasonBadEnvelope, ""},
		{`{"type":"ping","id":"1","timestamp":"soon","payload":{}}`, viber.ReasonBadEnvelope, "1"},
		{`{"type":"ping","id":"1","timestamp":5,"payload":{}}`, viber.ReasonBadEnvelope, "1"},
		{`{"type":"ping","id":"1"}`, viber.ReasonBadEnvelope, "1"},

		{`{"type":"ping","id":"1","payload":[]}`, viber.ReasonBadPayload, "1"},
		{`{"type":"ping","id":"1","payload":null}`, viber.ReasonBadPayload, "1"},
		{`{"type":"task:stop","id":"1","payload":{"task_id":5}}`, viber.ReasonBadPayload, "1"},

		{`{"type":"task:fly","id":"1","payload":{}}`, viber.ReasonUnknownType, "1"},
		{`{"type":"Ping","id":"1","payload":{}}`, viber.ReasonUnknownType, "1"},
		{`{"type":"task:started","id":"1","payload":{}}`, viber.ReasonUnknownType, "1"},
	} {
		m, err := viber.DecodeFromClient([]byte(c.frame))
		if m.ID != c.id {
			t.Errorf("%.80s: id %q", c.frame, m.ID)
		}
		if c.reason == "" {
			if err != nil || m.Body == nil {
				t.Errorf("%.80s: %v; want no error, m.Body not to be nil", c.frame, err)
			}
			continue
		}
		v := violationOf(t, err)
		if v.Reason != c.reason {
			t.Errorf("%.80s: %v, want %s", c.frame, v, c.reason)
		}
		if a := v.Answer(); a.Code != viber.CodeProtocolError || a.Details.Reason != c.reason || a.Message == "" {
			t.Errorf("%.80s: answered %+v", c.frame, a)
		}
	}
}

func TestAClientCannotAnswer(t *testing.T) {
	m, err := viber.DecodeFromClient([]byte(`{"type":"ping","id":"1","reply_to":"2","payload":{}}`))
	if err != nil || m.ReplyTo != "" {
		t.Errorf("%+v, %v; want no error, m.ReplyTo to be \"\"", m, err)
	}
}

func decodePayload(typ viber.Type, payload string) (viber.Payload, error) {
	m, err := viber.DecodeFromClient(fmt.Appendf(nil, `{"type":%q,"id":"1","payload":%s}`, typ, payload))
	return m.Body, err
}

func TestPayloadsAreJudged(t *testing.T) {
	submit := func(rest string) string { return `{"goal":"g","messages":[]` + rest + `}` }
	option := func(o string) string { return submit(`,"options":{` + o + `}`) }
	text := func(n int) string { return strings.Repeat("x", n) }
	messages := func(n, size int) string {
		one := `{"role":"user","content":"` + text(size) + `"}`
		return `{"goal":"g","messages":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	artifacts := func(n int) string {
		return submit(`,"artifacts":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, n), ",") + `]`)
	}
	for _, c := range []struct {
		typ     viber.Type
		payload string
		reason  viber.Reason
		field   string
	}{
		{viber.TypeTaskSubmit, `{"goal":"g"}`, "", ""},
		{viber.TypeTaskSubmit, `{"goal":"g","messages":null,"plan":null,"artifacts":null,"options":null,"idempotency_key":""}`, "", ""},
		{viber.TypeTaskSubmit, `{}`, viber.ReasonMissingGoal, "/goal"},
		{viber.TypeTaskSubmit, `{"goal":null}`, viber.ReasonMissingGoal, "/goal"},
		{viber.TypeTaskSubmit, `{"goal":" \n\t "}`, viber.ReasonMissingGoal, "/goal"},
		{viber.TypeTaskSubmit, `{"goal":5}`, viber.ReasonBadPayload, "/goal"},
		{viber.TypeTaskSubmit, `{"goal":"` + text(viber.MaxGoal) + `"}`, "", ""},
		{viber.TypeTaskSubmit, `{"goal":"` + text(viber.MaxGoal+1) + `"}`, viber.ReasonTooLarge, "/goal"},
		{viber.TypeTaskSubmit, submit(`,"memory":"` + text(viber.MaxMemory+1) + `"`), viber.ReasonTooLarge, "/memory"},
		{viber.TypeTaskSubmit, submit(`,"idempotency_key":"` + strings.Repeat("é", viber.MaxIdempotencyKey) + `"`), "", ""},
		{viber.TypeTaskSubmit, submit(`,"idempotency_key":"` + text(viber.MaxIdempotencyKey+1) + `"`), viber.ReasonBadPayload, "/idempotency_key"},
		{viber.TypeTaskSubmit, messages(1000, 1), "", ""},
		{viber.TypeTaskSubmit, messages(1001, 1), viber.ReasonTooLarge, "/messages"},
		{viber.TypeTaskSubmit, messages(2, viber.MaxHistoryBytes/2), "", ""},
		{viber.TypeTaskSubmit, messages(2, viber.MaxHistoryBytes/2+1), viber.ReasonTooLarge, "/messages"},
		{viber.TypeTaskSubmit, `{"goal":"g","messages":[{"role":"tool","content":""}]}`, viber.ReasonBadRole, "/messages/0/role"},
		{viber.TypeTaskSubmit, `{"goal":"g","messages":["hi"]}`, viber.ReasonBadPayload, "/messages/0"},
		{viber.TypeTaskSubmit, `{"goal":"g","messages":[{"role":"user","content":"","tool_calls":[{"id":"c","name":"n","arguments":5}]}]}`, viber.ReasonBadPayload, "/messages/0/tool_calls/0/arguments"},
		{viber.TypeTaskSubmit, `{"goal":"g","messages":[{"role":"user","content":"","tool_calls":[{"id":"c","arguments":{}}]}]}`, viber.ReasonBadPayload, "/messages/0/tool_calls/0"},
		{viber.TypeTaskSubmit, `{"goal":"g","messages":[{"role":"user","content":"","tool_results":[{"result":1}]}]}`, viber.ReasonBadPayload, "/messages/0/tool_results/0"},

		{viber.TypeTaskSubmit, submit(`,"plan":{"format":"markdown","content":""}`), "", ""},
		{viber.TypeTaskSubmit, submit(`,"plan":{"format":"yaml","content":""}`), viber.ReasonBadPayload, "/plan/format"},
		{viber.TypeTaskSubmit, submit(`,"plan":{"format":"markdown","content":{}}`), viber.ReasonBadPayload, "/plan/content"},
		{viber.TypeTaskSubmit, submit(`,"plan":{"format":"structured","content":"x"}`), viber.ReasonBadPayload, "/plan/content"},
		{viber.TypeTaskSubmit, submit(`,"plan":{"format":"structured","content":{"steps":[{"id":"1","title":"t","status":"done"}]}}`), viber.ReasonBadPayload, "/plan/content/steps/0/status"},
		{viber.TypeTaskSubmit, submit(`,"plan":{"format":"structured","content":{"steps":[{"id":"1","status":"pending"},{"id":"1","status":"pending"}]}}`), viber.ReasonBadPayload, "/plan/content/steps/1/id"},
		{viber.TypeTaskSubmit, submit(`,"plan":7`), viber.ReasonBadPayload, "/plan"},

		{viber.TypeTaskSubmit, artifacts(200), "", ""},
		{viber.TypeTaskSubmit, artifacts(201), viber.ReasonTooLarge, "/artifacts"},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{"id":"a","ref":"C:\\work\\a.txt"},{"id":"b","ref":"./notes: more.md"},{"id":"c","ref":"HTTPS://x.org"}]`), "", ""},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{}]`), viber.ReasonBadArtifact, "/artifacts/0"},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{"id":"a","type":"video"}]`), viber.ReasonBadArtifact, "/artifacts/0"},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{"id":"a","ref":"file:///etc/passwd"}]`), viber.ReasonBadArtifact, "/artifacts/0"},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{"id":"a","ref":"javascript:alert(1)"}]`), viber.ReasonBadArtifact, "/artifacts/0"},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{"id":"a","ref":"http:"}]`), viber.ReasonBadArtifact, "/artifacts/0"},
		{viber.TypeTaskSubmit, submit(`,"artifacts":[{"id":"a","ref":"a\u0000b"}]`), viber.ReasonBadArtifact, "/artifacts/0"},

		{viber.TypeTaskSubmit, option(`"mode":"viber-decides","future":{}`), "", ""},
		{viber.TypeTaskSubmit, option(`"mode":"yolo"`), viber.ReasonBadMode, "/options/mode"},
		{viber.TypeTaskSubmit, option(`"mode":5`), viber.ReasonBadMode, "/options/mode"},
		{viber.TypeTaskSubmit, option(`"max_tokens":0`), viber.ReasonBadOption, "/options/max_tokens"},
		{viber.TypeTaskSubmit, option(`"max_tokens":-1`), viber.ReasonBadOption, "/options/max_tokens"},
		{viber.TypeTaskSubmit, option(`"max_tokens":1.5`), viber.ReasonBadOption, "/options/max_tokens"},
		{viber.TypeTaskSubmit, option(`"timeout_ms":"5"`), viber.ReasonBadOption, "/options/timeout_ms"},
		{viber.TypeTaskSubmit, option(`"timeout_ms":null`), "", ""},
		{viber.TypeTaskSubmit, option(`"stream_deltas":"yes"`), viber.ReasonBadOption, "/options/stream_deltas"},
		{viber.TypeTaskSubmit, option(`"approval_timeout_ms":999`), viber.ReasonBadOption, "/options/approval_timeout_ms"},
		{viber.TypeTaskSubmit, option(`"approval_timeout_ms":2592000001`), viber.ReasonBadOption, "/options/approval_timeout_ms"},
		{viber.TypeTaskSubmit, option(`"on_approval_timeout":"shrug"`), viber.ReasonBadOption, "/options/on_approval_timeout"},
		{viber.TypeTaskSubmit, option(`"on_restart":"reject"`), viber.ReasonBadOption, "/options/on_restart"},
		{viber.TypeTaskSubmit, option(`"budget_usd":0`), viber.ReasonBadOption, "/options/budget_usd"},
		{viber.TypeTaskSubmit, option(`"max_steps":0`), viber.ReasonBadOption, "/options/max_steps"},
		{viber.TypeTaskSubmit, option(`"agent":5`), viber.ReasonBadOption, "/options/agent"},
		{viber.TypeTaskSubmit, submit(`,"options":"fast"`), viber.ReasonBadPayload, "/options"},

		{viber.TypeAuth, `{"device_id":"d","role":"operator"}`, "", ""},
		{viber.TypeAuth, `{"device_id":"d","role":"node","scopes":[],"protocol_version":"1"}`, "", ""},
		{viber.TypeAuth, `{"role":"operator"}`, viber.ReasonBadPayload, "/device_id"},
		{viber.TypeAuth, `{"device_id":"a\nb","role":"operator"}`, viber.ReasonBadPayload, "/device_id"},
		{viber.TypeAuth, `{"device_id":"d","role":"root"}`, viber.ReasonBadPayload, "/role"},
		{viber.TypeAuth, `{"device_id":"d","role":"operator","scopes":"*"}`, viber.ReasonBadPayload, "/scopes"},
		{viber.TypeAuth, `{"protocol_version":"2"}`, viber.ReasonUnsupportedVersion, "/protocol_version"},
		{viber.TypeRefresh, `{"device_id":"d","role":"root"}`, viber.ReasonBadPayload, "/role"},

		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":"x"}}`, "", ""},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":"x"},"injection_mode":null}`, "", ""},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":"x"},"injection_mode":"shout"}`, viber.ReasonBadInjectionMode, "/injection_mode"},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":"x"},"injection_mode":3}`, viber.ReasonBadInjectionMode, "/injection_mode"},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"system","content":"x"}}`, viber.ReasonBadRole, "/message/role"},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"content":"x"}}`, viber.ReasonBadRole, "/message/role"},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":" "}}`, viber.ReasonBadPayload, "/message/content"},
		{viber.TypeTaskMessage, `{"message":{"role":"user","content":"x"}}`, viber.ReasonBadPayload, "/task_id"},
		{viber.TypeTaskMessage, `{"task_id":"t","message":"x"}`, viber.ReasonBadPayload, "/message"},
		{viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":"` + text(viber.MaxHistoryBytes+1) + `"}}`, viber.ReasonTooLarge, "/message"},

		{viber.TypeTaskStop, `{}`, viber.ReasonBadPayload, "/task_id"},
		{viber.TypeTaskUnsubscribe, `{}`, viber.ReasonBadPayload, "/task_id"},
		{viber.TypeTaskResume, `{}`, viber.ReasonBadPayload, "/task_id"},
		{viber.TypeTaskResume, `{"task_id":"t","after_seq":-1}`, viber.ReasonBadCursor, "/after_seq"},
		{viber.TypeTaskResume, `{"task_id":"t","after_seq":"1"}`, viber.ReasonBadPayload, "/after_seq"},
		{viber.TypeTaskList, `{"limit":201}`, viber.ReasonBadPayload, "/limit"},
		{viber.TypeTaskList, `{"limit":-1}`, viber.ReasonBadPayload, "/limit"},
		{viber.TypeTaskList, `{"status":"lost"}`, viber.ReasonBadPayload, "/status"},

		{viber.TypeApprovalResponse, `{"approval_id":"a","approved":false}`, "", ""},
		{viber.TypeApprovalResponse, `{"approval_id":"a"}`, viber.ReasonBadPayload, "/approved"},
		{viber.TypeApprovalResponse, `{"approval_id":"a","approved":"yes"}`, viber.ReasonBadPayload, "/approved"},
		{viber.TypeApprovalResponse, `{"approved":true}`, viber.ReasonBadPayload, "/approval_id"},
		{viber.TypeApprovalResponse, `{"approval_id":"a","approved":true,"remember":"forever"}`, viber.ReasonBadPayload, "/remember"},

		{viber.TypeTerminalAttach, `{}`, viber.ReasonBadPayload, "/terminal_id"},
		{viber.TypeTerminalDetach, `{}`, viber.ReasonBadPayload, "/terminal_id"},
		{viber.TypeTerminalClose, `{}`, viber.ReasonBadPayload, "/terminal_id"},
		{viber.TypeTerminalInput, `{"data":"x"}`, viber.ReasonBadPayload, "/terminal_id"},
		{viber.TypeTerminalResize, `{"rows":1,"cols":1}`, viber.ReasonBadPayload, "/terminal_id"},
		{viber.TypeTerminalResize, `{"terminal_id":"x","rows":1.5,"cols":1}`, viber.ReasonBadPayload, "/rows"},
		{viber.TypeHealthPing, `{}`, "", ""},
		{viber.TypeHealthPing, `{"client_time":{"odd":1}}`, "", ""},
	} {
		body, err := decodePayload(c.typ, c.payload)
		if c.reason == "" {
			if err != nil || body == nil {
				t.Errorf("%s %.100s: %v; want no error, body not to be nil", c.typ, c.payload, err)
			}
			continue
		}
		v := violationOf(t, err)
		if v.Reason != c.reason || v.Field != c.field || body != nil {
			t.Errorf("%s %.100s: %+v, want %s at %s", c.typ, c.payload, v, c.reason, c.field)
		}
		if closes := v.Close == viber.CloseProtocol; closes != (c.reason == viber.ReasonUnsupportedVersion) {
			t.Errorf("%s %.100s: closes with %d", c.typ, c.payload, v.Close)
		}
	}
}

func TestErrorTextsDoNotRepeatWhatWasSent(t *testing.T) {
	for _, payload := range []string{
		`{"device_id":"d","role":"operator","token":["prl_secret"]}`,
		`{"device_id":"d","role":"prl_secret","token":"prl_secret"}`,
		`{"device_id":"d","role":"operator","scopes":["a","a"],"token":prl_secret}`,
	} {
		_, err := decodePayload(viber.TypeAuth, payload)
		v := violationOf(t, err)
		if strings.Contains(v.Error()+v.Answer().Message, "secret") {
			t.Errorf("%v; want not \"secret\" in it", v)
		}
	}
}

func TestWhatIsLeftOutHasADefault(t *testing.T) {
	get := func(typ viber.Type, payload string) viber.Payload {
		p, err := decodePayload(typ, payload)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	submit := get(viber.TypeTaskSubmit, `{"goal":"g","options":{"mode":"viber-decides"}}`).(*viber.TaskSubmit)
	if submit.Key("env") != "env" || submit.Opts().Mode != viber.AgentDecides || submit.Opts().Timeout() != viber.TaskTimeout {
		t.Errorf("%+v; want submit.Key(\"env\") to be \"env\", submit.Opts().Mode to be %v, submit.Opts().Timeout() to be %v", submit, viber.AgentDecides, viber.TaskTimeout)
	}
	if m := get(viber.TypeTaskMessage, `{"task_id":"t","message":{"role":"user","content":"x"}}`).(*viber.TaskMessage); m.InjectionMode != viber.Followup {
		t.Errorf("%+v; want m.InjectionMode to be %v", m, viber.Followup)
	}
	if l := get(viber.TypeTaskList, `{}`).(*viber.TaskList); l.Limit != viber.DefaultListLimit {
		t.Errorf("%+v; want l.Limit to be %v", l, viber.DefaultListLimit)
	}
	if r := get(viber.TypeApprovalResponse, `{"approval_id":"a","approved":true}`).(*viber.ApprovalResponse); r.Remember != viber.RememberOnce || !r.Yes() {
		t.Errorf("%+v; want r.Remember to be %v, r.Yes()", r, viber.RememberOnce)
	}
	if c := get(viber.TypeTerminalCreate, `{"cols":100}`).(*viber.TerminalCreate); c.Size() != (viber.Size{Rows: 24, Cols: 100}) {
		t.Errorf("%+v", c)
	}
	long := viber.TaskOptions{TimeoutMS: 1 << 60, ApprovalTimeoutMS: 2000}
	if long.Timeout() != viber.MaxTaskTimeout || long.ApprovalTimeout(0) != 2*time.Second {
		t.Error(long.Timeout(), long.ApprovalTimeout(0))
	}
}

func TestImpossibleTerminalRequestsAreTerminalErrors(t *testing.T) {
	big := 1001
	for _, c := range []struct {
		p    viber.Payload
		want viber.TerminalCode
	}{
		{&viber.TerminalInput{TerminalID: "x", Data: strings.Repeat("x", viber.MaxTerminalInput)}, ""},
		{&viber.TerminalInput{TerminalID: "x", Data: strings.Repeat("x", viber.MaxTerminalInput+1)}, viber.TerminalLimit},
		{&viber.TerminalResize{TerminalID: "x", Rows: 1, Cols: 1000}, ""},
		{&viber.TerminalResize{TerminalID: "x", Rows: 0, Cols: 80}, viber.TerminalBadSize},
		{&viber.TerminalResize{TerminalID: "x", Rows: 24, Cols: 1001}, viber.TerminalBadSize},
		{&viber.TerminalCreate{}, ""},
		{&viber.TerminalCreate{Rows: &big}, viber.TerminalBadSize},
		{&viber.TerminalList{}, ""},
	} {
		got := viber.TerminalCode("")
		if e := viber.Refusal(c.p); e != nil {
			got = e.Error.Type
		}
		if got != c.want {
			t.Errorf("%T %.60v: %q, want %q", c.p, c.p, got, c.want)
		}
	}
}

func TestServersOfTheFutureAreUnderstood(t *testing.T) {
	m, err := viber.DecodeFromServer([]byte(`{"type":"task:dream","id":"1","reply_to":"r","payload":{"of":["sheep"]}}`))
	u, ok := m.Body.(*viber.Unknown)
	if err != nil || !ok || u.Type() != "task:dream" || string(u.Raw) != `{"of":["sheep"]}` || m.ReplyTo != "r" {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = viber.DecodeFromServer([]byte(`{"type":"task:started","id":"1","payload":{"task_id":"t","started_at":"yesterday","mood":"good"}}`))
	started, ok := m.Body.(*viber.TaskStarted)
	if err != nil || !ok || started.TaskID != "t" || !started.StartedAt.IsZero() {
		t.Errorf("%+v, %v; want no error, ok, started.TaskID to be \"t\", started.StartedAt.IsZero()", m, err)
	}
}

func TestTimesAreUTCMilliseconds(t *testing.T) {
	at := time.Date(2026, 1, 15, 11, 30, 0, 7_999_999, time.FixedZone("CET", 3600))
	data, err := viber.Encode(viber.Header{ID: "1", At: at, ReplyTo: "r"}, &viber.Pong{})
	want := `{"type":"pong","id":"1","timestamp":"2026-01-15T10:30:00.007Z","reply_to":"r","payload":{}}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v; want no error, string(data) to be %v", data, err, want)
	}
}

func TestHeartbeatsMeasureTheWayThere(t *testing.T) {
	now := time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		sent jsontext.Value
		want float64
	}{
		{viber.NewHealthPing(now.Add(-1500 * time.Millisecond)).ClientTime, 1500},
		{viber.NewHealthPing(now.Add(time.Hour)).ClientTime, 0},
		{jsontext.Value(`"noon"`), 0},
		{jsontext.Value(`12`), 0},
		{nil, 0},
	} {
		pong := (&viber.HealthPing{ClientTime: c.sent}).Pong(now)
		if pong.LatencyMS != c.want || !pong.ServerTime.Equal(now) || !cmp.Equal(pong.ClientTime, c.sent) {
			t.Errorf("%s: %+v; want pong.LatencyMS to be %v, pong.ServerTime.Equal(now), cmp.Equal(pong.ClientTime, c.sent)", c.sent, pong, c.want)
		}
	}
}

func FuzzDecodeFromClient(f *testing.F) {
	for _, fr := range frames(f, "messages.txtar") {
		f.Add(fr.data)
	}
	f.Add([]byte(`{"type":"task:submit","id":"1","payload":{"goal":"g","options":{"mode":"-"},"plan":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := viber.DecodeFromClient(data)
		if err != nil {
			if v := violationOf(t, err); v.Answer().Details.Reason == "" || m.Body != nil {
				t.Errorf("%+v; want v.Answer().Details.Reason not to be \"\", m.Body to be nil", v)
			}
			return
		}
		again, err := viber.Encode(viber.Header{ID: m.ID, At: m.Timestamp}, m.Body)
		if err != nil {
			t.Fatal(err)
		}
		m2, err := viber.DecodeFromClient(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
		third, err := viber.Encode(viber.Header{ID: m2.ID, At: m2.Timestamp}, m2.Body)
		if err != nil || string(third) != string(again) {
			t.Errorf("%s became %s, then %s: %v", data, again, third, err)
		}
	})
}

func FuzzDecodeFromServer(f *testing.F) {
	for _, file := range []string{"messages.txtar", "one-run.txtar"} {
		for _, fr := range frames(f, file) {
			f.Add(fr.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := viber.DecodeFromServer(data)
		if err != nil {
			_ = violationOf(t, err)
			return
		}
		if _, err := viber.Encode(viber.Header{ID: m.ID, At: m.Timestamp}, m.Body); err != nil {
			t.Errorf("%s: %v; want no error", data, err)
		}
	})
}
