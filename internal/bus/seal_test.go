package bus

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"
)

func testSeal(t testing.TB, b byte) *seal {
	t.Helper()
	l, err := newSeal(bytes.Repeat([]byte{b}, SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var (
	testStart   = time.Unix(1_800_000_000, 0)
	testSession = session{1, 2, 3}
	testRequest = newNonce(session{9}, 7)
)

func testHead(k kind) envelope {
	return envelope{kind: k, nonce: newNonce(testSession, 5), sent: testStart, hub: "hub-1"}
}

func sealed(l *seal, e envelope, subject string, about stampNonce, data string) []byte {
	return bytes.Clone(l.close(new(scratch), e, subject, about, []byte(data)))
}

// openAs parses and opens a message as somebody who got it on that subject would.
func openAs(l *seal, raw []byte, subject string, about stampNonce) (string, error) {
	e, err := parse(bytes.Clone(raw))
	if err != nil {
		return "", err
	}
	data, err := l.open(e, subject, about)
	return string(data), err
}

func TestASealedMessageIsReadByHubsOfTheClusterAlone(t *testing.T) {
	ours := testSeal(t, 'a')
	raw := sealed(ours, testHead(published), "room.1", stampNonce{}, "the words")
	if bytes.Contains(raw, []byte("words")) {
		t.Error("the words can be read on the way")
	}
	if got, err := openAs(ours, raw, "room.1", stampNonce{}); got != "the words" || err != nil {
		t.Errorf("a hub of the cluster reads %q, %v", got, err)
	}
	if _, err := openAs(testSeal(t, 'b'), raw, "room.1", stampNonce{}); !errors.Is(err, errOtherKey) {
		t.Errorf("a hub with another secret: %v, want another key", err)
	}
	stolenID := testSeal(t, 'b')
	stolenID.keyID = ours.keyID
	if _, err := openAs(stolenID, raw, "room.1", stampNonce{}); !errors.Is(err, errForged) {
		t.Errorf("another key that claims to be ours: %v, want forged", err)
	}
	if ours.cluster == testSeal(t, 'b').cluster {
		t.Error("two clusters use the same subjects")
	}
}

// Kind, key, sender, count, time and name are in the clear, and bound all the same.
func TestNoByteOfASealedMessageCanBeChangedOrLeftOut(t *testing.T) {
	l := testSeal(t, 'a')
	raw := sealed(l, testHead(requested), "machine.pc.call", stampNonce{}, "run this")
	for i := range raw {
		for _, flip := range []byte{1, 0x80} {
			changed := bytes.Clone(raw)
			changed[i] ^= flip
			if got, err := openAs(l, changed, "machine.pc.call", stampNonce{}); err == nil {
				t.Fatalf("byte %d was changed and the message still says %q", i, got)
			}
		}
		if got, err := openAs(l, raw[:i], "machine.pc.call", stampNonce{}); err == nil {
			t.Fatalf("cut off after %d bytes the message still says %q", i, got)
		}
	}
	if _, err := openAs(l, append(bytes.Clone(raw), 0), "machine.pc.call", stampNonce{}); err == nil {
		t.Error("a byte more was not noticed")
	}
}

func TestASealHoldsForItsSubjectAlone(t *testing.T) {
	l := testSeal(t, 'a')
	raw := sealed(l, testHead(published), "machine.pc.call", stampNonce{}, "run this")
	for _, other := range []string{"machine.server.call", "machine.pc", "machine.pc.call.x", "", "Machine.pc.call"} {
		if _, err := openAs(l, raw, other, stampNonce{}); !errors.Is(err, errForged) {
			t.Errorf("played on %q: %v, want forged", other, err)
		}
	}
}

func TestAnAnswerIsForItsRequestAlone(t *testing.T) {
	l := testSeal(t, 'a')
	raw := sealed(l, testHead(answered), "machine.pc.call", testRequest, "done")
	if got, err := openAs(l, raw, "machine.pc.call", testRequest); got != "done" || err != nil {
		t.Errorf("the request it is for: %q, %v", got, err)
	}
	if _, err := openAs(l, raw, "machine.pc.call", newNonce(session{9}, 8)); !errors.Is(err, errForged) {
		t.Errorf("the next request: %v, want forged", err)
	}
	if _, err := openAs(l, raw, "machine.server.call", testRequest); !errors.Is(err, errForged) {
		t.Errorf("a request about something else: %v, want forged", err)
	}
}

func TestThereIsNoSealWithoutASecret(t *testing.T) {
	for _, secret := range [][]byte{nil, {}, make([]byte, SecretSize-1)} {
		if _, err := newSeal(secret); err == nil {
			t.Errorf("a secret of %d bytes is enough", len(secret))
		}
		if _, err := ConnectNATS(t.Context(), NATSConfig{Servers: Servers{URLs: "nats://127.0.0.1:1"}, Secret: secret}); err == nil {
			t.Errorf("a bus connects with a secret of %d bytes", len(secret))
		}
	}
}

func TestErrorsOfTheLibraryLoseTheirPasswords(t *testing.T) {
	s := Servers{URLs: "nats://me:hunter2%2Fx@n1,nats://sesame@n2"}
	was := errors.New(`dial "nats://me:hunter2%2Fx@n1": hunter2/x, sesame`)
	if got := s.redact(was); got.Error() != `dial "nats://…@n1": …, …` || !errors.Is(got, was) {
		t.Errorf("it says %q", got)
	}
}

func FuzzEnvelope(f *testing.F) {
	l := testSeal(f, 'a')
	f.Add(sealed(l, testHead(published), "x", stampNonce{}, "words"))
	f.Add(sealed(l, envelope{kind: answered, hub: ""}, "x", testRequest, ""))
	f.Add([]byte(`{"hub":"hub-0"}`))
	f.Add(bytes.Repeat([]byte{1}, fixedHead+16))
	f.Add(bytes.Repeat([]byte{0xff}, 200))
	genuine := sealed(l, testHead(published), "x", stampNonce{}, "words")
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := parse(bytes.Clone(raw))
		if err != nil {
			return
		}
		e.hub = e.sender()
		if head := appendHead(nil, &e); !bytes.Equal(head, raw[:len(head)]) {
			t.Errorf("a head was read as another: %x, then %x", raw[:len(head)], head)
		}
		if data, err := l.open(e, "x", stampNonce{}); err == nil && !bytes.Equal(raw, genuine) && e.kind != answered {
			t.Errorf("somebody without the key made %q", data)
		}
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	l := testSeal(b, 'a')
	for _, size := range []int{200, 16 << 10, 512 << 10} {
		b.Run(fmt.Sprint(size, " bytes"), func(b *testing.B) {
			data := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				s, _ := scratches.Get().(*scratch)
				e, err := parse(l.close(s, testHead(published), "machine.pc.call", stampNonce{}, data))
				if err == nil {
					_, err = l.open(e, "machine.pc.call", stampNonce{})
				}
				if err != nil {
					b.Fatal(err)
				}
				s.free()
			}
		})
	}
}
