package place

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/store"
)

// packed is a parcel with a record of each kind.
func packed() []byte {
	at := store.Time(1_700_000_000_000_000)
	m := &message{
		num: 7 << numBits, sender: "ada", recipient: "bob", kind: "note", hash: "sha256:00", idem: "k", size: 3, proven: true, tracked: true,
		created: at, expires: at.Add(time.Hour), blob: []byte("abc"),
	}
	body := appendMessage([]byte{parcelVersion}, m)
	body = appendMoved(body, m)
	body = appendGone(body, m)
	body = appendFate(body, m)
	return appendNote(body, &auditRow{event: "relay", action: "dropped", agent: "a\tb", other: "c", ref: "r", kind: "k", size: 9, hash: "h", detailRaw: "{}"})
}

// again packs what was read.
func again(t testing.TB, body []byte) ([]byte, error) {
	t.Helper()
	out := []byte{parcelVersion}
	err := eachRecord(body, func(r record) error {
		switch r.kind {
		case recMessage:
			out = appendMessage(out, r.m)
		case recGone:
			out = appendGone(out, r.m)
		case recFate:
			out = appendFate(out, r.m)
		case recMoved:
			out = appendMoved(out, r.m)
		case recNote:
			out = appendNote(out, &r.note)
		}
		return nil
	})
	return out, err
}

func TestAParcelIsReadAsItWasPacked(t *testing.T) {
	body := packed()
	got, err := again(t, body)
	if diff := cmp.Diff(body, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for n := range body {
		if n == 0 {
			continue
		}
		cut, err := again(t, body[:n])
		if err == nil && !bytes.HasPrefix(body, cut) {
			t.Errorf("cut after %d bytes it reads %x", n, cut)
		}
	}
}

// found is what a start learns of a parcel, by reading all of it or only what it
// needs.
func found(body []byte, all bool) (out []string, err error) {
	say := func(num int64, m *fresh) {
		if m == nil {
			out = append(out, fmt.Sprint(num))
			return
		}
		named := ""
		if m.named != nil {
			named = fmt.Sprintf("%q", *m.named)
		}
		out = append(out, fmt.Sprintf("%d %d %q %d %d %s", num, m.expires, m.recipient, m.off, m.size, named))
	}
	if !all {
		return out, eachFresh(body, say)
	}
	return out, eachRecord(body, func(r record) error {
		switch {
		case r.m == nil:
		case r.kind == recMessage:
			say(r.m.num, freshOf(r.m, r.off))
		default:
			say(r.m.num, nil)
		}
		return nil
	})
}

func TestAStartFindsMessagesWithoutReadingThem(t *testing.T) {
	want, err := found(packed(), true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := found(packed(), false)
	if diff := cmp.Diff(want, got); err != nil || diff != "" || len(got) != 4 {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzParcel(f *testing.F) {
	f.Add(packed())
	f.Add([]byte{parcelVersion, recMessage, 0xff})
	f.Add([]byte{parcelVersion, recNote, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := again(t, body)
		want, _ := found(body, true)
		got, skimErr := found(body, false)
		if (err == nil) != (skimErr == nil) || err == nil && !slices.Equal(want, got) {
			t.Errorf("%v and %v: %q, and without reading all %q", err, skimErr, want, got)
		}
		if err != nil {
			return
		}
		second, err := again(t, first)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v: %x, then %x", err, first, second)
		}
	})
}
