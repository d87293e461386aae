package roomagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/protocol/kibitz"
)

// wire is the channel of a link in the hands of a test.
type wire []string

func (w *wire) SendText(s string) error {
	*w = append(*w, s)
	return nil
}

// unchecked is a link with b that has not been checked yet.
func unchecked(t *testing.T) (*peer, *wire) {
	t.Helper()
	m, err := newMesh(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Conn = &Conn{
		sign: time.Now(),
		life: context.Background(), pending: map[int64]*pending{}, mesh: kibitz.MeshPolicy{Data: true},
		self: &kibitz.Self{ID: "a"}, members: []kibitz.Member{{ID: "a"}, {ID: "b"}},
		caps: map[string]kibitz.Grant{"a": kibitz.FullGrant(), "b": kibitz.FullGrant()},
	}
	m.closeQuit() // nothing is signalled
	w := &wire{}
	p := &peer{mesh: m, id: "b", channel: w, proven: false, timer: time.NewTimer(time.Hour)}
	m.peers["b"] = p
	t.Cleanup(func() { p.timer.Stop() })
	return p, w
}

// sent is what went over the wire, without its wrapping.
func (w wire) sent(t *testing.T) (out []string) {
	t.Helper()
	for _, s := range w {
		var c struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(s), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, string(c.Data))
	}
	return out
}

func say(p *peer, to string, n any) error {
	return p.mesh.deliver(to, content(kibitz.ContentApp, map[string]any{"data": n}))
}

func (p *peer) becomesChecked() {
	p.fits, p.proven = true, true
	p.check()
}

func TestNothingPassesALinkBeforeItIsCheckedAndThenAllInOrder(t *testing.T) {
	p, w := unchecked(t)
	for i := range 9 {
		to := ""
		if i%2 == 1 {
			to = "b"
		}
		if err := say(p, to, i); err != nil {
			t.Fatal(err)
		}
	}
	if len(*w) != 0 {
		t.Fatalf("%d messages passed a link that was not checked", len(*w))
	}
	p.becomesChecked()
	if err := say(p, "", 9); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.sent(t), " "); got != "0 1 2 3 4 5 6 7 8 9" {
		t.Errorf("got is %v; want \"0 1 2 3 4 5 6 7 8 9\"", got)
	}
}

func TestTheBufferOfALinkHolds256MessagesOrOneMebibyte(t *testing.T) {
	var slow *RateError
	t.Run("messages", func(t *testing.T) {
		p, w := unchecked(t)
		for i := range 256 {
			if err := say(p, "b", i); err != nil {
				t.Fatalf("%d: %v; want no error", i, err)
			}
		}
		if err := say(p, "b", 256); !errors.As(err, &slow) {
			t.Errorf("one more: %v", err)
		}
		if err := say(p, "", 257); err != nil {
			t.Errorf("a broadcast must not fail for one link: %v", err)
		}
		p.becomesChecked()
		got := w.sent(t)
		if len(got) != 256 || got[0] != "0" || got[255] != "255" {
			t.Errorf("%d messages, from %s to %s", len(got), got[0], got[len(got)-1])
		}
	})
	t.Run("bytes", func(t *testing.T) {
		p, w := unchecked(t)
		half := strings.Repeat("x", 1<<19)
		if err := say(p, "b", half); err != nil {
			t.Fatal(err)
		}
		if err := say(p, "b", half); !errors.As(err, &slow) {
			t.Errorf("more than a mebibyte was held: %v", err)
		}
		if err := say(p, "b", "small"); err != nil {
			t.Errorf("what fits: %v", err)
		}
		p.becomesChecked()
		if len(*w) != 2 {
			t.Errorf("%d messages", len(*w))
		}
	})
}

func TestARefusedLinkDropsWhatWaited(t *testing.T) {
	p, w := unchecked(t)
	if err := say(p, "b", "secret"); err != nil {
		t.Fatal(err)
	}
	p.fits = true
	p.heard([]byte(`{"k":"link","assertion":"not.a-proof"}`))
	if len(*w) != 0 || p.mesh.peers["b"] != nil {
		t.Errorf("a refused link got %v, and stands: %v", *w, p.mesh.peers["b"] != nil)
	}
	var denied *DeniedError
	if err := say(p, "b", "again"); !errors.As(err, &denied) || denied.Code != "to.unknown" {
		t.Error(err)
	}
}

// The grant counts when a message passes, not when it began to wait.
func TestWhatMayNotBePerceivedAnyMoreIsNotSentLate(t *testing.T) {
	p, w := unchecked(t)
	for _, to := range []string{"", "b"} {
		if err := say(p, to, "before"); err != nil {
			t.Fatal(err)
		}
	}
	p.mesh.caps["b"] = kibitz.Grant{Perceive: []kibitz.Capability{kibitz.ReadChat}}
	p.becomesChecked()
	if len(*w) != 1 {
		t.Errorf("%d messages", len(*w))
	}
}

// What the other sends too early waits as well, and is bounded, too.
func TestNothingOfAnUncheckedLinkIsProcessed(t *testing.T) {
	p, _ := unchecked(t)
	for i := range 300 {
		p.heard([]byte(fmt.Sprintf(`{"k":"app","data":%d}`, i)))
	}
	if len(p.inbox) != heldMessages {
		t.Errorf("%d messages wait", len(p.inbox))
	}
	got := 0
	p.mesh.messages.add(func(message) { got++ })
	p.mesh.inbox.held = true
	if len(p.mesh.inbox.work) != 0 {
		t.Error("something was processed before the link was checked")
	}
	p.becomesChecked()
	if len(p.mesh.inbox.work) != heldMessages {
		t.Errorf("%d messages were heard", len(p.mesh.inbox.work))
	}
}

func TestADataOnlyPeerSaysSo(t *testing.T) {
	const sdp = "v=0\r\ns=-\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\nm=video 0 UDP/TLS/RTP/SAVPF 0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=sendrecv\r\n"
	for receives, want := range map[bool]string{false: "a=inactive", true: "a=recvonly"} {
		got := listening(sdp, receives)
		wanted := "v=0\r\ns=-\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\n" + want + "\r\na=mid:0\r\nm=video 0 UDP/TLS/RTP/SAVPF 0\r\n" + want + "\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=sendrecv\r\n"
		if got != wanted {
			t.Errorf("%q; want %v", got, wanted)
		}
	}
}
