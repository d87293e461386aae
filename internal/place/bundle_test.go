package place

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rebundled reads a row and packs what it holds again.
func rebundled(t testing.TB, row []byte) ([]byte, error) {
	t.Helper()
	var out []byte
	err := eachParcel(9, 90, row, func(h *held) error {
		if !bytes.Equal(row[h.base:h.base+h.size], h.body) || h.row != 9 {
			t.Errorf("parcel %d is not at %d of row %d", h.num, h.base, h.row)
		}
		out, _ = appendParcel(out, h)
		return nil
	})
	return out, err
}

func TestABundleIsReadAsItWasPacked(t *testing.T) {
	var row []byte
	for num := range int64(3) {
		var base int
		h := &held{num: 7 + num, at: 70 + num, body: packed()}
		if row, base = appendParcel(row, h); !bytes.Equal(row[base:], h.body) {
			t.Errorf("parcel %d does not begin at %d", h.num, base)
		}
	}
	got, err := rebundled(t, row)
	if diff := cmp.Diff(row, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for n := range row {
		if cut, err := rebundled(t, row[:n]); err == nil && !bytes.HasPrefix(row, cut) {
			t.Errorf("cut after %d bytes it reads %x", n, cut)
		}
	}
}

func TestARowOfBeforeIsAParcelByItself(t *testing.T) {
	var got []*held
	err := eachParcel(7, 70, packed(), func(h *held) error {
		got = append(got, h)
		return nil
	})
	if err != nil || len(got) != 1 || got[0].num != 7 || got[0].at != 70 || got[0].row != 7 || !bytes.Equal(got[0].body, packed()) {
		t.Errorf("%+v %v", got, err)
	}
}

func FuzzBundle(f *testing.F) {
	row, _ := appendParcel(nil, &held{num: 7, at: 70, body: packed()})
	f.Add(row)
	f.Add([]byte{bundleVersion, 2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{parcelVersion})
	f.Fuzz(func(t *testing.T, row []byte) {
		first, err := rebundled(t, row)
		if err != nil {
			return
		}
		second, err := rebundled(t, first)
		if len(first) > 0 && (err != nil || !bytes.Equal(first, second)) {
			t.Errorf("%v: %x, then %x", err, first, second)
		}
	})
}
