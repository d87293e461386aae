package mmp

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

func headOf(seed byte, size int64, root string) Head {
	h := Head{Size: size, Root: tlog.RecordHash([]byte(root))}
	h.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32)))
	return h
}

// A head counts for the place that signed it, as it was signed, and for nothing else.
func TestAHeadIsBoundToItsPlaceAndItsLog(t *testing.T) {
	good := headOf(1, 3, "a")
	if err := good.Verify(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Head){
		"size": func(h *Head) { h.Size++ }, "root": func(h *Head) { h.Root[0]++ }, "key": func(h *Head) { h.PlaceKey = headOf(2, 3, "a").PlaceKey },
		"signature": func(h *Head) { h.Signature = headOf(1, 4, "a").Signature }, "none": func(h *Head) { h.Signature = "" },
	} {
		h := good
		change(&h)
		if h.Verify() == nil {
			t.Errorf("a head with another %s verifies", name)
		}
	}
	if !good.Contradicts(headOf(1, 3, "b")) || good.Contradicts(headOf(1, 4, "b")) || good.Contradicts(headOf(2, 3, "b")) {
		t.Error("only two heads of one place and one size contradict each other by themselves")
	}
	if err := headOf(1, 4, "b").Follows(good, nil); !errors.Is(err, ErrTwoHistories) {
		t.Errorf("a log without a proof follows another: %v", err)
	}
}

func FuzzParseLeaf(f *testing.F) {
	leaf, _ := Binding{AgentID: "ada", KeyID: "sha256:00", At: "2026-01-01T00:00:00Z"}.Leaf()
	for _, seed := range []string{leaf, `{}`, `{"agent_id":7}`, `[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, leaf string) {
		b, err := ParseLeaf(leaf)
		if err != nil {
			return
		}
		again, err := b.Leaf()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseLeaf(again); err != nil || back != b {
			t.Errorf("%q reads as %+v, and that as %+v %v", leaf, b, back, err)
		}
	})
}

func FuzzDecodeHeads(f *testing.F) {
	good, _ := Encode(SeenAnswer{Heads: []Head{headOf(1, 3, "a")}})
	for _, seed := range [][]byte{good, []byte(`{}`), []byte(`{"heads":[{"root":"x"}]}`), []byte(`{"heads":7}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		heads, _ := DecodeHeads(body)
		for _, h := range heads {
			if h.Verify() != nil {
				t.Errorf("%+v was read and does not verify", h)
			}
		}
	})
}
