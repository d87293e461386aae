package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley.internal/internal/store"
)

// oddValues are values of every kind a database can have in it.
func oddValues() []any {
	return []any{
		nil, "", "text", "<&>\"\\\n\r\t\x00\x01\u2028\u2029\ufeff", "ключ", "\U0001f980", "\ufffd",
		"not \xff\xfe UTF-8", "half a \xf0\x9f", "a surrogate \xed\xa0\x80",
		int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1<<53 + 1),
		0.0, 1.5, -1.5, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, math.Copysign(0, -1),
		math.NaN(), math.Inf(1), math.Inf(-1),
		[]byte{},
		[]byte{0},
		[]byte{0, 0xff, '"'},
		[]byte("text"),
	}
}

func TestEveryValueOfADumpComesBackAsItWas(t *testing.T) {
	want := oddValues()
	packed, err := store.PackRow(want)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(packed)
	if err != nil {
		t.Fatalf("writing the row: %v", err)
	}
	got, err := store.UnpackRow(line)
	if err != nil {
		t.Fatalf("reading the row %s: %v", line, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("a value came back as another (-was +is):\n%s", diff)
	}
	if f, ok := got[22].(float64); !ok || !math.Signbit(f) {
		t.Errorf("minus zero came back as %v", got[22])
	}
}

// An empty blob is written as {"b":null} by the driver's nil slice in dumps of the
// first format; hubs have such backups.
func TestNoBytesOfAnOldDumpAreNoBytesAndNotNull(t *testing.T) {
	got, err := store.UnpackRow([]byte(`[{"b":null},{"b":""},null]`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{[]byte{}, []byte{}, nil}, got); diff != "" {
		t.Errorf("no bytes and NULL (-want +got):\n%s", diff)
	}
}

func TestAValueADumpCannotHoldFailsTheDump(t *testing.T) {
	if _, err := store.PackRow([]any{true}); err == nil {
		t.Error("a value that could not be loaded again was dumped")
	}
}

func FuzzRowOfADump(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[1,"a",null,{"b":"AA=="},{"b":null},{"f":1.5},{"f":"NaN"},{"t":"/w=="}]`, `[{"f":1e999}]`, `[1.5]`, `[9223372036854775808]`,
		`[{}]`, `[{"b":"a","f":1}]`, `[true]`, `[[1]]`, `[{"f":"1"}]`, `[{"b":7}]`, `{}`, `[1] [2]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		row, err := store.UnpackRow(line)
		if err != nil {
			if !errors.Is(err, store.ErrBadDump) {
				t.Fatalf("an error without its kind: %v", err)
			}
			return
		}
		packed, err := store.PackRow(row)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := json.Marshal(packed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.UnpackRow(again)
		if err != nil || !cmp.Equal(row, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()) {
			t.Fatalf("%s became %s: %v", line, again, err)
		}
	})
}
