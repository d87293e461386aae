package kibitz

import (
	"strings"
	"testing"
)

func TestDirectionsInSDP(t *testing.T) {
	for in, want := range map[string]struct{ media, sends bool }{
		"v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=sendrecv\r\n": {false, false},
		"m=audio 9 x 1\r\na=recvonly\r\nm=video 9 x 1\r\na=inactive\r\n":            {true, false},
		"m=audio 9 x 1\r\na=recvonly\r\nm=video 9 x 1\r\n":                          {true, true},
		"m=audio 9 x 1\r\na=sendonly\r\n":                                           {true, true},
		"m=video 0 x 1\na=sendrecv":                                                 {true, true},
		"a=recvonly\r\nm=audio 9 x 1\r\n":                                           {true, true},
		"m=audio 9 x 1\r\na=recvonly\r\na=sendrecv\r\n":                             {true, true},
		"m=audio 9 x 1\ra=recvonly\rm=video 9 x 1\ra=sendonly":                      {true, true},
		" M=Audio\t9 x 1\n A=SendOnly ":                                             {true, true},
		"m=audio 9 x 1\r\na=recvonly":                                               {true, false},
		"":                                                                          {false, false},
	} {
		if m, s := SDPHasMedia(in), SDPSends(in); m != want.media || s != want.sends {
			t.Errorf("%q: media %v sends %v", in, m, s)
		}
	}
}

func TestSignallingIsJudgedInOrder(t *testing.T) {
	fp := strings.TrimSuffix(strings.Repeat("AB:", 32), ":")
	line := "a=fingerprint:sha-256 " + fp + "\r\n"
	audio := "m=audio 9 x 1\r\na=sendrecv\r\n"
	for _, c := range []struct {
		sdp, announced string
		off            bool
		g              Grant
		want           Code
	}{
		{line + audio, strings.ToLower(fp), false, FullGrant(), ""},
		{line + audio + line, fp, false, FullGrant(), ""},
		{line + audio, fp, false, AgentGrant(), ActDenied},
		{line + audio, fp, true, AgentGrant(), SigOff},
		{audio, fp, true, AgentGrant(), SigFingerprint},
		{line, "", false, FullGrant(), SigFingerprint},
		{line, "cd" + fp[2:], false, FullGrant(), SigFingerprint},
		{line + strings.Replace(line, "AB", "CD", 1), fp, false, FullGrant(), SigFingerprint},
		{line + "a=fingerprint:sha-1 AB\r\n", fp, false, FullGrant(), SigFingerprint},
		{"", fp, true, AgentGrant(), ""},
	} {
		s := &Signal{Link: "l", Type: SignalOffer, SDP: c.sdp}
		if got := CodeOf(s.Judge(c.announced, c.off, c.g)); got != c.want {
			t.Errorf("%q: %q, want %q", c.sdp, got, c.want)
		}
	}
}

func TestSignalling(t *testing.T) {
	for in, want := range map[string]string{
		`{"link":"l","type":"offer","sdp":"v=0","evil":1}`:                           `{"link":"l","type":"offer","sdp":"v=0"}`,
		`{"link":"l","type":"candidate","candidate":{"sdpMid":"0"}}`:                 `{"link":"l","type":"candidate","candidate":{"sdpMid":"0"}}`,
		`{"link":"l","type":"bye"}`:                                                  `{"link":"l","type":"bye"}`,
		`{"link":"l","type":"candidate","sdp":"m=audio"}`:                            "proto.bad-frame",
		`{"link":"l","type":"offer"}`:                                                "proto.bad-frame",
		`{"link":"l","type":"rollback"}`:                                             "proto.bad-frame",
		`{"type":"bye"}`:                                                             "proto.bad-frame",
		`{"link":"l","type":"offer","sdp":"` + strings.Repeat("x", MaxSignal) + `"}`: "limit.size",
	} {
		s, err := ReadSignal(Raw(in))
		got := string(CodeOf(err))
		if err == nil {
			data, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got = string(data)
		}
		if got != want {
			t.Errorf("%.60s: %s; want %v", in, got, want)
		}
	}
}

func FuzzSDP(f *testing.F) {
	f.Add("v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=recvonly\r\na=fingerprint:sha-256 AB\r\n")
	f.Add("m=video\ra=inactive\r\n\r\nm=audio")
	f.Fuzz(func(t *testing.T, sdp string) {
		if SDPSends(sdp) && !SDPHasMedia(sdp) {
			t.Fatal("sends without media")
		}
		// A section added behind can add sending, never take it away.
		if SDPSends(sdp) && !SDPSends(sdp+"\r\nm=audio 9 x 1\r\na=recvonly\r\n") {
			t.Fatal("hidden by a later section")
		}
		if fp, ok := SDPFingerprint(sdp); ok && !ValidFingerprint(fp) {
			t.Fatalf("fingerprint %q", fp)
		}
	})
}
