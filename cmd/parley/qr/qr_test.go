package qr

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// The codes were made once by another program (qrcode of PyPI, level L, byte mode); readers of phones read
// those, and so these.
func TestCodesAreThoseOfAnotherEncoder(t *testing.T) {
	raw, err := os.ReadFile("testdata/codes.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		Version, Mask int
		Rows          []string
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for text, w := range want {
		code, err := Encode(text)
		if err != nil || len(code) != len(w.Rows) {
			t.Fatalf("%d bytes make a code of %d modules, want %d: %v", len(text), len(code), len(w.Rows), err)
		}
		v := versions[w.Version-1]
		code = paint(w.Version, v, interleave(v, fill(w.Version, v.data(), text)), w.Mask).dark // encoders differ in the mask they choose
		var rows []string
		for _, row := range code {
			var line strings.Builder
			for _, dark := range row {
				line.WriteString(map[bool]string{true: "1", false: "0"}[dark])
			}
			rows = append(rows, line.String())
		}
		if got, want := strings.Join(rows, "\n"), strings.Join(w.Rows, "\n"); got != want {
			t.Errorf("the code of %d bytes is\n%s\nwant\n%s", len(text), got, want)
		}
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	if _, err := Encode(strings.Repeat("x", 271)); err != nil {
		t.Errorf("271 bytes: %v", err)
	}
	if _, err := Encode(strings.Repeat("x", 272)); !errors.Is(err, ErrTooLong) {
		t.Errorf("272 bytes: %v", err)
	}
}

func TestADrawnCodeHasItsQuietZone(t *testing.T) {
	code, err := Encode("hub")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(code.String(), "\n"), "\n")
	if first := []rune(lines[0]); len(first) != 25 || strings.Trim(lines[0], "█") != "" || len(lines) != 13 {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
}
