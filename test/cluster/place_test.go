package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley.internal/protocol/mmp"
	"parley.internal/test/hubtest"
)

func relaySend(t *testing.T, h *hubtest.Hub, to, blob string) {
	t.Helper()
	body := fmt.Sprintf(`{"from":"ada","to":%q,"encrypted_blob":%q,"blob_hash":%q,"message_type":"t"}`, to, blob, mmp.HashOf(blob).Bare())
	if got := h.As("", "POST", "/place/v1/relay/send", body); got.Status != http.StatusCreated {
		t.Fatalf("%d %s; want got.Status to be %v", got.Status, got.Body, http.StatusCreated)
	}
}

func TestAMessageSentOnOneHubWakesAPollOnTheOtherAndOutlivesItsHub(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	a, b := c.hubs[0], c.hubs[1]
	if x, y := a.As("", "GET", "/place/v1/info", ""), b.As("", "GET", "/place/v1/info", ""); placeID(t, x.Body) != placeID(t, y.Body) {
		t.Errorf("two hubs, two places: %s and %s", x.Body, y.Body)
	}
	if got := a.As("", "POST", "/place/v1/register", `{"id":"ada"}`); got.Status != http.StatusOK {
		t.Fatalf("%d %s; want got.Status to be %v", got.Status, got.Body, http.StatusOK)
	}
	hubtest.Eventually(t, "the other hub knows the agent", func() bool {
		return b.As("", "GET", "/place/v1/agents/ada", "").Status == http.StatusOK
	})
	polled := make(chan string, 1)
	go func() { polled <- string(b.As("", "GET", "/place/v1/relay/receive?wait=50&agent_id=bob", "").Body) }()
	relaySend(t, a, "bob", "across the hubs")
	if got := <-polled; !strings.Contains(got, "across the hubs") {
		t.Errorf("the poll got %s", got)
	}
	relaySend(t, a, "bob", "before the end")
	a.Kill9()
	if got := b.As("", "GET", "/place/v1/relay/receive?agent_id=bob", ""); !strings.Contains(string(got.Body), "before the end") {
		t.Errorf("the message died with its hub: %s", got.Body)
	}
}

func placeID(t *testing.T, body []byte) string {
	t.Helper()
	var info struct {
		PlaceID string `json:"place_id"`
	}
	if err := json.Unmarshal(body, &info); err != nil || info.PlaceID == "" {
		t.Fatalf("%s: %v; want no error, info.PlaceID not to be \"\"", body, err)
	}
	return info.PlaceID
}
