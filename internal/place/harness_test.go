package place_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "place.audit_digest") }

var testKey = sync.OnceValue(func() *mmp.PrivateKey {
	key, err := mmp.GenerateKey()
	if err != nil {
		panic(err)
	}
	return key
})

type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

var hubKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// folderOf is where the file of a database is.
func folderOf(db *store.DB) string {
	if db.Dialect() != store.SQLite {
		return ""
	}
	return filepath.Dir(strings.TrimPrefix(db.String(), "sqlite:"))
}

// open makes a place; it is closed with the test. One that is opened on a database
// before stands for a hub that comes after another ended without a word.
func open(t testing.TB, db *store.DB, c place.Config, change ...func(*place.Deps)) (*place.Place, *clock) {
	t.Helper()
	b := bus.NewLocal()
	clk := &clock{}
	d := place.Deps{DB: db, Bus: b, Key: hubKey, Now: clk.now, Dir: folderOf(db), Trail: trailtest.Watch(nil)}
	for _, f := range change {
		f(&d)
	}
	p, err := place.New(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("closing: %v", err)
		}
		_ = b.Close()
	})
	return p, clk
}

// operator runs the place.
var operator = place.Visitor{Actor: identity.Hub()}

// stranger is somebody without a token, on this machine.
var stranger = place.Visitor{}

func send(t testing.TB, p *place.Place, who place.Visitor, from, to, blob string) string {
	t.Helper()
	out, err := p.Send(t.Context(), who, &relay.SendRequest{From: from, To: to, Blob: []byte(blob), BlobHash: mmp.HashOf(blob).Prefixed(), MessageType: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return out.RelayID
}

func receive(t testing.TB, p *place.Place, who place.Visitor, q relay.ReceiveQuery) []string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Lease == 0 {
		q.Lease = mmp.DefaultLease
	}
	out, err := p.Receive(t.Context(), who, q)
	if err != nil {
		t.Fatal(err)
	}
	blobs := []string{}
	for _, m := range out.Messages {
		blobs = append(blobs, m.Blob)
	}
	return blobs
}

// prove registers an id with the test's key and returns its session.
func prove(t testing.TB, p *place.Place, id string) place.Visitor {
	t.Helper()
	c, err := p.Challenge(t.Context(), stranger, id)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := c.For(id).Sign(testKey())
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Register(t.Context(), stranger, &board.Registration{ID: id, Name: id, Scope: "general", PublicKey: testKey().Public().PEM(), Proof: &proof})
	if err != nil {
		t.Fatal(err)
	}
	who, err := p.Authenticate(t.Context(), out.SessionToken)
	if err != nil {
		t.Fatal(err)
	}
	return who
}
