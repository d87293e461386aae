package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/audit"
	"parley.internal/internal/mask"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newKey() ed25519.PrivateKey {
	_, key, _ := ed25519.GenerateKey(nil)
	return key
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func open(t testing.TB, db *store.DB, opts audit.Options) *audit.Chain {
	t.Helper()
	log, err := audit.Open(context.Background(), db, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func mustAppend(t testing.TB, log *audit.Chain, entries ...audit.Entry) {
	t.Helper()
	if err := log.Append(context.Background(), entries...); err != nil {
		t.Fatal(err)
	}
}

func verify(t testing.TB, log *audit.Chain, kept ...audit.Checkpoint) audit.Report {
	t.Helper()
	report, err := log.Verify(context.Background(), audit.Kept{Where: "a witness", Checkpoints: kept})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func sample(n int) []audit.Entry {
	entries := make([]audit.Entry, n)
	for i := range entries {
		entries[i] = audit.Entry{
			Actor: "person:alice", OnBehalf: "person:bob", Action: "thing.done", Target: fmt.Sprint("t", i), Outcome: "ok",
			Duration: time.Duration(i) * time.Millisecond, Digest: audit.DigestText("x"), Detail: map[string]any{"n": i, "text": "<ü & \u2028>"},
		}
	}
	return entries
}

func TestEntriesComeBackAsTheyWereWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := open(t, db, audit.Options{Key: newKey()})
		at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
		entry := audit.Entry{
			At: at, Actor: "person:alice", OnBehalf: "person:bob", Action: "call.made", Target: "machine:pc", Outcome: "denied",
			Duration: 1500 * time.Microsecond, Digest: "d", Detail: map[string]any{"b": []any{1.5, "x", nil, true}, "a": "<&>"},
		}
		mustAppend(t, log, entry, audit.Entry{Action: "plain"})
		got, err := log.Query(t.Context(), audit.Filter{})
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v; want no error, len(got) to be 2", got, err)
		}
		if diff := cmp.Diff(entry, got[0].Entry); diff != "" {
			t.Error(diff)
		}
		if got[0].Seq != 1 || got[0].Prev != (audit.Hash{}) || got[1].Prev != got[0].Hash || got[1].Outcome != "ok" || got[1].At.IsZero() {
			t.Errorf("links %+v", got)
		}
		if err := log.Append(t.Context(), audit.Entry{}); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("an empty entry: %v", err)
		}
		if err := log.Append(t.Context(), audit.Entry{Action: "x", Detail: map[string]any{"c": make(chan int)}}); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("a channel: %v", err)
		}
		if r := verify(t, log); !r.OK || r.Entries != 2 || r.Head != got[1].Hash {
			t.Errorf("report %+v", r)
		}
	})
}

// The format must never change: this is the hash of a known entry.
func TestTheChainFormatIsFixed(t *testing.T) {
	log := open(t, storetest.SQLite(t), audit.Options{})
	mustAppend(t, log, audit.Entry{
		At: time.UnixMicro(1767225600000001), Actor: "person:alice", Action: "token.revoked", Target: "t1",
		Duration: 2 * time.Millisecond, Detail: map[string]any{"scopes": []string{"b", "a"}, "n": 1},
	})
	// SHA-256 of 32 zero bytes followed by
	// {"action":"token.revoked","actor":"person:alice","at":1767225600000001,"detail":{"n":1,"scopes":["b","a"]},"digest":"","duration":2000,"on_behalf_of":"","outcome":"ok","seq":1,"target":"t1"}
	const want = "076373670c567f519f7835c6155d180f2e6d877ddc30e81ea721759ed22bab94"
	if r := verify(t, log); r.Head.String() != want {
		t.Errorf("head %s", r.Head)
	}
}

func TestSecretsAreBlottedOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		configured := "a-key-the-hub-knows"
		log := open(t, db, audit.Options{Mask: mask.New(func() []string { return []string{configured} })})
		secrets := []string{configured}
		for _, prefix := range []string{"prl_", "prc_", "prk_"} {
			secrets = append(secrets, prefix+strings.Repeat("Ab-_9", 8)+"xyz")
		}
		for _, secret := range secrets {
			mustAppend(t, log, audit.Entry{Action: "bug", Actor: secret, Target: "a " + secret, Detail: map[string]any{"x": []string{secret}, secret: 1, "bad": "\x00\xff"}})
		}
		var out bytes.Buffer
		for line, err := range log.Export(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			out.Write(line)
		}
		for _, secret := range secrets {
			if strings.Contains(out.String(), secret) || !strings.Contains(out.String(), mask.Sign) {
				t.Errorf("the trail shows %s: %s", secret, out.String())
			}
		}
		if r := verify(t, log); !r.OK {
			t.Errorf("%+v; want r.OK", r)
		}
	})
}

func TestDigestsDependOnValuesNotOnSpelling(t *testing.T) {
	one, err := audit.Digest(json.RawMessage(`{"b": 1.0, "a": "\u00fc"}`))
	if err != nil {
		t.Fatal(err)
	}
	two, err := audit.Digest(map[string]any{"a": "ü", "b": 1})
	if err != nil || one != two || len(one) != 64 {
		t.Errorf("%s %s %v; want no error, one to be %v, len(one) to be 64", one, two, err, two)
	}
	if three, _ := audit.Digest(map[string]any{"a": "ü", "b": 2}); three == one {
		t.Error("different values, same digest")
	}
	if _, err := audit.Digest(json.RawMessage(`{`)); err == nil {
		t.Error("broken JSON has a digest")
	}
}

func TestFilters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := open(t, db, audit.Options{})
		hour := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
		mustAppend(t, log,
			audit.Entry{At: hour, Actor: "a", Action: "token.created", Target: "x"},
			audit.Entry{At: hour.Add(time.Minute), Actor: "b", Action: "token.revoked", Target: "y", Outcome: "denied"},
			audit.Entry{At: hour.Add(time.Hour), Actor: "a", Action: "task.ended", Target: "x", OnBehalf: "b"},
			audit.Entry{At: hour.Add(3 * time.Hour), Actor: "a", Action: "Token.odd", Target: "x"},
		)
		for name, c := range map[string]struct {
			f    audit.Filter
			want []int64
		}{
			"all":        {audit.Filter{}, []int64{1, 2, 3, 4}},
			"actor":      {audit.Filter{Actor: "a"}, []int64{1, 3, 4}},
			"prefix":     {audit.Filter{Action: "token."}, []int64{1, 2}},
			"target":     {audit.Filter{Target: "y"}, []int64{2}},
			"outcome":    {audit.Filter{Outcome: "ok"}, []int64{1, 3, 4}},
			"behalf":     {audit.Filter{OnBehalf: "b"}, []int64{3}},
			"since":      {audit.Filter{Since: hour.Add(time.Minute)}, []int64{2, 3, 4}},
			"until":      {audit.Filter{Until: hour.Add(time.Minute)}, []int64{1}},
			"after":      {audit.Filter{After: 2}, []int64{3, 4}},
			"before":     {audit.Filter{Before: 2}, []int64{1}},
			"last":       {audit.Filter{Limit: 2}, []int64{3, 4}},
			"first":      {audit.Filter{Limit: 2, Oldest: true}, []int64{1, 2}},
			"everything": {audit.Filter{Actor: "a", Action: "task", Target: "x", Since: hour, Until: hour.Add(2 * time.Hour), After: 1, Before: 4}, []int64{3}},
			"none":       {audit.Filter{Actor: "nobody"}, nil},
		} {
			got, err := log.Query(t.Context(), c.f)
			if err != nil {
				t.Fatalf("%s: %v; want no error", name, err)
			}
			var seqs []int64
			for _, r := range got {
				seqs = append(seqs, r.Seq)
			}
			if diff := cmp.Diff(c.want, seqs); diff != "" {
				t.Errorf("%s: %s; want no difference", name, diff)
			}
		}
		hours, err := log.Hours(t.Context(), audit.Filter{Until: hour.Add(2 * time.Hour)})
		want := []audit.HourCount{{Hour: hour, Count: 2, Failed: 1}, {Hour: hour.Add(time.Hour), Count: 1}}
		if diff := cmp.Diff(want, hours); err != nil || diff != "" {
			t.Errorf("hours: %v %s", err, diff)
		}
	})
}

func TestTwoHubsShareOneChain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		keys := []ed25519.PrivateKey{newKey(), newKey()}
		logs := []*audit.Chain{
			open(t, db, audit.Options{Key: keys[0], Trusted: []ed25519.PublicKey{public(keys[1])}, CheckpointEntries: 50}),
			open(t, db, audit.Options{Key: keys[1], Trusted: []ed25519.PublicKey{public(keys[0])}, CheckpointEntries: 50}),
		}
		const workers, each = 8, 15
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				log := logs[worker%2]
				for i := range each {
					entry := audit.Entry{Actor: fmt.Sprint("w", worker), Action: "work", Target: fmt.Sprint(i)}
					var err error
					switch i % 3 {
					case 0:
						err = log.Append(t.Context(), entry)
					case 1:
						err = db.Write(t.Context(), func(tx *store.Tx) error { return log.AppendTx(tx, entry) })
					case 2:
						log.Note(entry)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		for _, log := range logs {
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
		r := verify(t, logs[0])
		if !r.OK || r.Entries != workers*each || r.LastSigned != r.Entries || r.Checkpoints < 1 {
			t.Errorf("report %+v", r)
		}
		for worker := range workers {
			if got, err := logs[0].Query(t.Context(), audit.Filter{Actor: fmt.Sprint("w", worker)}); err != nil || len(got) != each {
				t.Errorf("worker %d: %d entries, %v", worker, len(got), err)
			}
		}
	})
}

func TestAnActThatFailsLeavesNoEntry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := open(t, db, audit.Options{})
		mustAppend(t, log, sample(3)...)
		failed := errors.New("the act failed")
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			if err := log.AppendTx(tx, sample(40)...); err != nil {
				return err
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		mustAppend(t, log, sample(2)...)
		if r := verify(t, log); !r.OK || r.Entries != 5 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestAChainGoesOnAfterARestart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		for range 3 {
			log := open(t, db, audit.Options{Key: key})
			mustAppend(t, log, sample(70)...)
			log.Note(sample(1)...)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			if err := log.Append(t.Context(), sample(1)...); !errors.Is(err, audit.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
		if r := verify(t, open(t, db, audit.Options{Key: key})); !r.OK || r.Entries != 213 || r.Checkpoints != 3 || r.LastSigned != 213 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestNotesAreWrittenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := open(t, storetest.SQLite(t), audit.Options{})
		for range 10 {
			log.Note(audit.Entry{Action: "noted"})
			<-time.After(50 * time.Millisecond)
		}
		<-time.After(500 * time.Millisecond)
		if got, err := log.Query(t.Context(), audit.Filter{}); err != nil || len(got) != 10 {
			t.Errorf("%d notes, %v", len(got), err)
		}
		_ = log.Close()
	})
}

func TestCheckpointsAreSignedByNumberAndByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []audit.Checkpoint
		key := newKey()
		log := open(t, storetest.SQLite(t), audit.Options{Key: key, CheckpointEntries: 10, CheckpointEvery: time.Hour, OnCheckpoint: func(cp audit.Checkpoint) { told = append(told, cp) }})
		mustAppend(t, log, sample(9)...)
		synctest.Wait()
		if len(told) != 0 {
			t.Error("signed early")
		}
		mustAppend(t, log, sample(2)...)
		synctest.Wait()
		mustAppend(t, log, sample(1)...)
		<-time.After(time.Hour)
		synctest.Wait()
		<-time.After(5 * time.Hour)
		synctest.Wait()
		_ = log.Close()
		var seqs []int64
		for _, cp := range told {
			seqs = append(seqs, cp.Seq)
			if !cp.Valid(public(key)) || cp.Valid(public(newKey())) || cp.Valid() {
				t.Errorf("signature of %d", cp.Seq)
			}
			data, err := json.Marshal(cp)
			var back audit.Checkpoint
			if err != nil || json.Unmarshal(data, &back) != nil || !back.Valid(public(key)) {
				t.Errorf("a checkpoint does not survive JSON: %s %v", data, err)
			}
		}
		if diff := cmp.Diff([]int64{11, 12}, seqs); diff != "" {
			t.Error(diff)
		}
	})
}
