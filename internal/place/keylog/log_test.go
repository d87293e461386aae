package keylog_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"testing"

	"parley.internal/internal/place/keylog"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
)

var placeKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, 32))

// Whatever was once in the log stays provable in every later one, and each length of it
// continues all shorter ones.
func TestALogGrowsAndProvesItself(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var heads []mmp.Head
		for n := range 20 {
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				b := mmp.Binding{AgentID: fmt.Sprintf("agent-%d", n), KeyID: fmt.Sprintf("key-%d", n), At: "2026-01-01T00:00:00Z"}
				if err := keylog.Append(tx, b, "pem"); err != nil {
					return err
				}
				h, err := keylog.Head(tx, placeKey)
				heads = append(heads, h)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		err := db.Read(t.Context(), func(tx *store.Tx) error {
			for n := range heads {
				in, err := keylog.Prove(tx, placeKey, fmt.Sprintf("agent-%d", n), fmt.Sprintf("key-%d", n))
				if err != nil {
					return err
				}
				if _, err := in.Verify(fmt.Sprintf("agent-%d", n), fmt.Sprintf("key-%d", n)); err != nil {
					t.Errorf("binding %d is not proven: %v", n, err)
				}
				if _, err := in.Verify("agent-x", fmt.Sprintf("key-%d", n)); err == nil {
					t.Errorf("binding %d is proven for another id", n)
				}
				proof, err := keylog.Consistency(tx, heads[n].Size, heads[19].Size)
				if err != nil {
					return err
				}
				if err := heads[19].Follows(heads[n], proof); err != nil {
					t.Errorf("the log does not continue its length %d: %v", n+1, err)
				}
			}
			if _, err := keylog.Consistency(tx, 5, 21); err == nil {
				t.Error("a length that is not there yet was proven")
			}
			h, err := keylog.History(tx, "agent-3")
			if err == nil && (len(h) != 1 || h[0].Index != 3) {
				t.Errorf("the history of an id: %+v", h)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Anybody may sign heads of a place of their own; little of that is kept. Two of one
// size are kept whatever else there is.
func TestTwoHeadsOfOneSizeAreKeptAsTheProof(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		head := func(size int64, salt byte) mmp.Head {
			h := mmp.Head{Size: size, Root: [32]byte{salt}}
			h.Sign(placeKey)
			return h
		}
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			for size := range int64(30) {
				if two, err := keylog.Saw(tx, head(size+1, 1), 1); err != nil || two {
					return fmt.Errorf("a longer head contradicts (%t): %w", two, err)
				}
			}
			known, err := keylog.Heads(tx)
			if err != nil || len(known) > 8 || known[0].Size != 30 {
				t.Errorf("%d heads of one place are kept: %+v %v", len(known), known, err)
			}
			if two, err := keylog.Saw(tx, head(30, 2), 2); err != nil || !two {
				t.Errorf("two heads of one size do not contradict each other: %v", err)
			}
			two, err := keylog.Contradicted(tx, head(1, 1).PlaceKey)
			if !two {
				t.Error("the contradiction was not kept")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
