package kibitz

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFramesOfClients(t *testing.T) {
	yes, name := true, "Ada"
	for text, want := range map[string]ClientFrame{
		`{"t":"voice","on":true,"name":"Ada","meta":{"role":"agent"},"want":null,"voiceId":"v1","zz":[1],"n":1}`: &Voice{On: &yes, Announce: Announce{N: 1, Name: &name, Meta: Raw(`{"role":"agent"}`)}},
		`{"t":"knock","name":"Ada"}`:                                            &Knock{Announce{Name: &name}},
		`{"t":"resume","resume":"s","since":18446744073709551615}`:              &Resume{Resume: "s", Since: 1<<64 - 1},
		`{"t":"send","c":{"k":"chat"},"to":"p1","id":"x","n":9007199254740991}`: &Send{N: MaxN, To: "p1", ID: "x", C: Raw(`{"k":"chat"}`)},
		`{"t":"grant","id":"p1","grant":null,"n":1e1}`:                          &SetGrant{N: 10, ID: "p1", Grant: Raw(`null`)},
		`{"t":"mod","op":"kick","target":"p2"}`:                                 &Mod{Op: OpKick, Target: "p2"},
		`{"t":"sig","to":"p2","d":{}}`:                                          &Sig{To: "p2", D: Raw(`{}`)},
		`{"t":"media","audio":true,"n":null}`:                                   &Media{Lanes: Lanes{Audio: true}},
		`{"t":"blocked","id":"p2","c":"chat","n":4}`:                            &Blocked{N: 4, ID: "p2", C: "chat"},
		`{"t":"sync"}`:       &Sync{},
		`{"t":"ping","n":3}`: &Ping{N: 3},
		`{"t":"leave"}`:      &Leave{},
	} {
		got, err := DecodeClient([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

func TestFramesThatAreNone(t *testing.T) {
	for text, want := range map[string]FrameError{
		``:                                       {Code: ProtoBadFrame},
		`[]`:                                     {Code: ProtoBadFrame},
		`{"t":1}`:                                {Code: ProtoBadFrame},
		`{"n":1}`:                                {Code: ProtoBadFrame},
		`{"t":"ping"} x`:                         {Code: ProtoBadFrame},
		`{"t":"ping","t":"ping"}`:                {Code: ProtoBadFrame},
		"{\"t\":\"ping\",\"x\":\"\xff\"}":        {Code: ProtoBadFrame},
		`{"t":"ping","n":0}`:                     {Code: ProtoBadFrame, Type: "ping"},
		`{"t":"ping","n":1.5}`:                   {Code: ProtoBadFrame, Type: "ping"},
		`{"t":"ping","n":"1"}`:                   {Code: ProtoBadFrame, Type: "ping"},
		`{"t":"ping","n":9007199254740992}`:      {Code: ProtoBadFrame, Type: "ping"},
		`{"t":"dance","n":7}`:                    {Code: ProtoUnknown, Type: "dance", N: 7},
		`{"t":"roster","members":[]}`:            {Code: ProtoUnknown, Type: "roster"},
		`{"t":"send","n":2}`:                     {Code: ProtoBadFrame, Type: "send", N: 2},
		`{"t":"send","c":[],"n":2}`:              {Code: ProtoBadFrame, Type: "send", N: 2},
		`{"t":"send","c":{},"to":""}`:            {Code: ProtoBadFrame, Type: "send"},
		`{"t":"send","c":{},"to":null}`:          {Code: ProtoBadFrame, Type: "send"},
		`{"t":"send","c":{},"to":3}`:             {Code: ProtoBadFrame, Type: "send"},
		`{"t":"send","c":{"a":1,"a":2}}`:         {Code: ProtoBadFrame},
		`{"t":"grant","id":"p"}`:                 {Code: ProtoBadFrame, Type: "grant"},
		`{"t":"grant","id":"p","grant":[]}`:      {Code: ProtoBadFrame, Type: "grant"},
		`{"t":"voice","on":"yes"}`:               {Code: ProtoBadFrame, Type: "voice"},
		`{"t":"voice","meta":"agent"}`:           {Code: ProtoBadFrame, Type: "voice"},
		`{"t":"resume","since":1}`:               {Code: ProtoBadFrame, Type: "resume"},
		`{"t":"blocked","id":"p"}`:               {Code: ProtoBadFrame, Type: "blocked"},
		`{"t":"mod"}`:                            {Code: ProtoBadFrame, Type: "mod"},
		`{"t":"sig","to":"p"}`:                   {Code: ProtoBadFrame, Type: "sig"},
		`{"t":"` + strings.Repeat(" ", MaxFrame): {Code: LimitSize},
		`{"t":"send","c":{},"id":"` + strings.Repeat("x", 65) + `"}`: {Code: ProtoBadFrame, Type: "send"},
	} {
		_, err := DecodeClient([]byte(text))
		got, ok := errors.AsType[*FrameError](err)
		if !ok {
			t.Errorf("%.60s: %v", text, err)
			continue
		}
		want.Reason = got.Reason
		if d := cmp.Diff(want, *got); d != "" || got.Reason == "" {
			t.Errorf("%.60s:\n%s", text, d)
		}
	}
}

// TestFramesOfTheHub holds the exact names of the wire: each line of the file
// is one frame, and is written as it was read.
func TestFramesOfTheHub(t *testing.T) {
	data, err := os.ReadFile("testdata/hub_frames.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Type]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		f, err := DecodeHub([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		seen[f.Type()] = true
		got, err := Encode(f)
		if err != nil || string(got) != line {
			t.Errorf("%v\n got %s\nwant %s", err, got, line)
		}
	}
	if len(seen) != 18 {
		t.Errorf("%d kinds of frames", len(seen))
	}
	if _, err := DecodeHub([]byte(`{"t":"later"}`)); CodeOf(err) != ProtoUnknown {
		t.Errorf("later: %v", err)
	}
}

func TestOversizedProofsAreRefusedUnread(t *testing.T) {
	big := strings.Repeat("x", MaxProof+1)
	for want, a := range map[Code]Announce{
		"":             {JWT: big[1:], AgentCredit: big[1:], AgentAssertion: big[:MaxAssertion]},
		GateTooLarge:   {AgentAssertion: big[:MaxAssertion+1], AgentCredit: big},
		CreditTooLarge: {AgentCredit: big},
	} {
		if got := CodeOf(a.CheckProofs()); got != want {
			t.Errorf("%q: %q; want %v", want, got, want)
		}
	}
	for _, a := range []Announce{{AgentChain: []string{"", "", "", "", ""}}, {AgentChain: []string{big}}, {JWT: big}, {AgentToken: big}} {
		if CodeOf(a.CheckProofs()) != GateTooLarge {
			t.Errorf("passed")
		}
	}
	for _, a := range []Announce{{Avatar: &big}, {Meta: Raw(big)}, {Token: big}} {
		if CodeOf(a.CheckFields()) != LimitSize {
			t.Errorf("passed")
		}
	}
}

func TestKindIsWhatOneClaimsAndMetaAgrees(t *testing.T) {
	for _, a := range []Announce{{Meta: Raw(`{"role":"agent"}`)}, {AgentAssertion: "x"}, {AgentToken: "x"}, {AgentChain: []string{"x"}}, {AgentCredit: "x"}} {
		if a.Kind() != Agent {
			t.Errorf("%+v is human", a)
		}
	}
	for _, a := range []Announce{{}, {Meta: Raw(`{"role":"Agent"}`)}, {Meta: Raw(`{"role":["agent"]}`)}, {JWT: "x"}} {
		if a.Kind() != Human {
			t.Errorf("%+v is an agent", a)
		}
	}
	for _, c := range []struct {
		in   string
		kind Kind
		want string
	}{
		{``, Human, ``},
		{``, Agent, `{"role":"agent"}`},
		{`{"role":"agent","~kbz":{"v":1},"b":1.0}`, Human, `{"b":1.0}`},
		{`{"role":"guest"}`, Human, `{"role":"guest"}`},
		{`{"role":"guest","b":"\u00e9"}`, Agent, `{"b":"\u00e9","role":"agent"}`},
	} {
		if got, err := PublicMeta(Raw(c.in), c.kind); err != nil || string(got) != c.want {
			t.Errorf("%s for %s: %s, %v", c.in, c.kind, got, err)
		}
	}
}

func TestCodesAreDistinctAndEachDoorHasOne(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if seen[c] {
			t.Errorf("%s twice", c)
		}
		seen[c] = true
	}
	for c, want := range map[Code]LobbyStatus{Kicked: "denied", RoomFull: "denied", LobbyDeny: "denied", RoomLocked: "locked", GateStale: "unverified"} {
		if got := c.DoorStatus(); got != want {
			t.Errorf("%s: %s; want %v", c, got, want)
		}
	}
	for _, r := range creditReasons() {
		if !seen[CreditCode(r[0]+" X")] {
			t.Errorf("%s has no code", r[0])
		}
	}
	if !errors.Is(Lacks(Speak), &Refusal{Code: ActDenied}) || Lacks(ReceiveDirected).Code != PerceiveDenied {
		t.Error("lacks")
	}
}

func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		`{"t":"voice","on":true,"n":1}`, `{"t":"send","c":{"k":"app","data":{"__kib_agent":"act","action":1e400}},"n":2}`,
		`{"t":"grant","id":"p","grant":{"act":["act"]}}`, `{"t":"sig","to":"a","d":{"type":"offer"}}`, `{"t":"x"}`, `{"t":"send","c":{"k":"chat","text":"\ud800"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := DecodeHub(data); err != nil && CodeOf(err) == "" {
			t.Fatalf("untyped %v", err)
		}
		frame, err := DecodeClient(data)
		if err != nil {
			if CodeOf(err) == "" {
				t.Fatalf("untyped %v", err)
			}
			return
		}
		again, err := Encode(frame)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeClient(again)
		if err != nil && CodeOf(err) != LimitSize {
			t.Fatalf("%s: %v", again, err)
		}
		if d := cmp.Diff(frame, second); err == nil && d != "" {
			t.Fatalf("changed:\n%s", d)
		}
		if s, ok := frame.(*Send); ok {
			checkFuzzed(t, s)
		}
	})
}

// checkFuzzed: what is relayed once is relayed again unchanged.
func checkFuzzed(t *testing.T, s *Send) {
	c, err := OpenContent(s.C)
	if err != nil {
		return
	}
	wire, err := c.Check(c.Box, s.To != "")
	if err != nil {
		if CodeOf(err) == "" {
			t.Fatalf("untyped %v", err)
		}
		return
	}
	again, err := OpenContent(wire)
	if err != nil || again.Right() != c.Right() || again.IsView() != c.IsView() {
		t.Fatalf("other rights: %s, %v", wire, err)
	}
	if second, err := again.Check(c.Box, s.To != ""); err != nil || string(second) != string(wire) {
		t.Fatalf("%s became %s, %v", wire, second, err)
	}
}
