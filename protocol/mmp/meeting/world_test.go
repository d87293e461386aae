package meeting

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"parley.internal/protocol/mmp"
)

// world is two agents with keys that never change, so that no test waits for one
// to be made.
type world struct{ ada, bob *mmp.PrivateKey }

var vectorTime = time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)

func newWorld(t testing.TB) *world {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Ada string `json:"ada"`
		Bob string `json:"bob"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return &world{mustKey(t, file.Ada), mustKey(t, file.Bob)}
}

func mustKey(t testing.TB, text string) *mmp.PrivateKey {
	t.Helper()
	k, err := mmp.ParsePrivateKey([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// refusal is what a client sees: "status code text".
func refusal(err error) string {
	if err == nil {
		return ""
	}
	var e mmp.Error
	if !errors.As(err, &e) {
		return "untyped: " + err.Error()
	}
	return fmt.Sprintf("%d %s %s", e.Status, e.Code, e.Text)
}
