package earlier

import (
	"encoding/json"
	"os"
	"testing"
)

// FuzzRow: whatever is in the table, reading it ends and never goes beyond it.
func FuzzRow(f *testing.F) {
	for _, row := range folder(f).Parcels {
		f.Add(row.Body)
	}
	f.Add([]byte{bundleVersion, 2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{parcelVersion, byte(Noted), 2, 0xff})
	f.Fuzz(func(t *testing.T, row []byte) {
		parcels, err := Parcels(7, 70, row)
		if err != nil {
			return
		}
		for _, p := range parcels {
			records, err := p.Records()
			for _, r := range records {
				if err == nil && len(r.Blob) > len(row) {
					t.Errorf("a blob of %d bytes comes out of a row of %d", len(r.Blob), len(row))
				}
			}
		}
	})
}

// FuzzLog: a file is read up to the first record that is torn.
func FuzzLog(f *testing.F) {
	left := folder(f)
	for _, file := range left.Files {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		last := int64(0)
		for _, p := range decodeLog(file, left.Meta["redo"]) {
			if p.Num <= last || !p.Logged {
				t.Errorf("parcel %d comes after %d", p.Num, last)
			}
			last = p.Num
		}
	})
}

// TestALogIsReadUpToWhereItWasTorn: each byte that is missing costs at most the records
// behind it.
func TestALogIsReadUpToWhereItWasTorn(t *testing.T) {
	left := folder(t)
	for name, file := range left.Files {
		whole := decodeLog(file, left.Meta["redo"])
		for n := headerSize; n < len(file); n += 7 {
			if cut := decodeLog(file[:n], left.Meta["redo"]); len(cut) > len(whole) || len(cut) > 0 && cut[len(cut)-1].Num != whole[len(cut)-1].Num {
				t.Errorf("%s cut after %d bytes reads %d parcels of %d", name, n, len(cut), len(whole))
			}
		}
		if found := decodeLog(file, "another database"); len(found) > 0 {
			t.Errorf("%s is read for another database", name)
		}
	}
}

type left struct {
	Meta    map[string]string
	Parcels []struct{ Body []byte }
	Files   map[string][]byte
}

func folder(t testing.TB) (f left) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/earlier.json")
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}
