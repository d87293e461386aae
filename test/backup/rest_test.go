package backup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/store"
)

// exceptions are tables that may be empty in the backup of a hub that runs. The tests
// of package store put rows into these too.
var exceptions = map[string]string{
	"sqlite brain_agents":        "agents are rows on PostgreSQL only; here they are files",
	"sqlite brain_agent_imports": "agents are rows on PostgreSQL only; here they are files",
	"place_parcels":              "only an earlier release wrote them, and a start takes them over",

	"talk_queue":    "turns wait only while another runs, and a hub that starts runs them",
	"event_journal": "events pass through it under load only, and leave it within a moment",
	"event_runs":    "only events that came through the journal are packed like this",
}

// now is a time nothing of which is old enough to be forgotten.
var now = time.Now().UnixMicro()

// far is a time in microseconds when nobody runs this test any more.
const far = int64(4102444800000000)

// rest are rows for tables that are hard to fill by use: what fills them needs another
// hub, a browser, a second person, or hours. Nothing in them is due before far.
var rest = map[string][]any{
	"settings":           {"test.note", "kept"},
	"devices":            {"device", "owner", "phone", []byte{1, 2, 3}, 1, 0, 0},
	"passkeys":           {"passkey", "owner", "key ring", "{}", "status:read", 1, 0, "", far},
	"passkey_ceremonies": {"ceremony", "login", "owner", "{}", far},
	"audit_witnessed":    {"key", 1, 1, []byte{1}, []byte{2}, 1},
	"approval_people":    {"zoe", "approval"},
	"approval_votes":     {"approval", "zoe", "Zoe", 1},
	"talk_grants":        {"grant", "parley", "user", "", "reviewer", "user", "{}", 1, far},
	"push_subscriptions": {"https://push.example.org/1", "owner", "page", "p256dh", "auth", 1},
	"notices":            {"notice", "webhook https://example.org/hook", "{}", far, 0, 0, far},
	"files":              {"0f", "image/png", 3, 1},
	"file_parts":         {"0f", 0, []byte{0x89, 'P', 'N'}},
	"file_holds":         {"0f", "owner", "talk:nobody", "photo.png", 1, 0},
	"workspace_grants":   {"grant", "owner", "other", "garden", 1, 1, far, "{}"},
	"embed_origins":      {"https://app.example.org", "person:owner", 1},
	"standing_rules":     {"rule", "owner", "parley", "shell", `{"command":"ls"}`, ".", "{}", 1, far, 20, 1, 1, "", "{}"},
	"fleet_legacy":       {"hash", "old", 1, far, 0},
	"fleet_screens":      {"box", 1, 1, "owner", 2, 1, "call", []byte{}},
	"fleet_binaries":     {"linux/amd64", "1.2.3", "sum", 3, "signature", "key", "upload", 1},
	"fleet_binary_parts": {"upload", 0, []byte{0x7f, 'E', 'L'}},
	"fleet_rollouts":     {"rollout", "1.2.3", "done", 1, "", "owner", "{}", 1},
	"fleet_updates":      {"update", "rollout", 1, "box", "1.2.3", "1.2.2", "done", "", 1, 1},
	"place_nonces":       {"nonce", "bob", far},
	"place_dropped":      {"bob", 3, 1},
	"place_needs":        {"bob", "bob", "agent", `[]`, 1, far},
	"place_deposits":     {"bob", "tea", "Tea", "How to", `["drink"]`, "markdown", "# Tea", "hash", "signature", "", "", "{}", 1, 1},
	"place_attests":      {"bob", "tea", "ada", "it works", "hash", "signature", 1},
	"place_hours":        {494000, "relay", "enqueue", 1, 7},
	"place_hour_agents":  {494000, "bob"},
	"place_edges":        {"ada", "bob", 1, 7, 1},
	"place_heads":        {"ed25519:key", 1, "root", "signature", 1},
	"place_peers":        {"friends", "https://place.example.org", "ed25519:key", "place", 1, 1, ""},
	"place_remote":       {"friends", "carl", "{}", 1},
	"place_meetings":     {"meeting", "parley", "bob", "bob", now, now + 1, "They met."},
	"skill_peers":        {"parley", "carl", "key", "", "[]", 1, 1, ""},
	"skill_items": {
		"item", "parley", "parley", "coffee", "Coffee", "carl", "", "key", "L1", "markdown", "hash", "# Coffee", 8, "{}", "", "[]", "rejected", "", 0, 0, "", "message", "",
		1, 1, "owner", "no coffee here", "[]", "About coffee.", `["drink"]`,
	},
	"skill_refused":    {"parley", "hash", far},
	"skill_outbox":     {"out", 1, "nobody", "", "carl", "note", "{}", 0, far, far, ""},
	"skill_notes":      {"parley", "carl", "note", "parley", "", "L1", "Hello", "done", 1, far, now, ""},
	"skill_extensions": {"parley", "org.example.tea", "1.0.0", "hash", "refused", "carl", "Pour it.", "[]", "{}", "[]", "", "", "message", 1, far},
	"skill_places":     {"https://place.example.org", "place", "ed25519:key", "", "", 1},
	"skill_visits":     {"visit", "parley", "parley", "https://place.example.org", "place", "", 0, 0, 1, 2, 0, 10, "", "", "over", "", 1},
	"room_bans":        {"den", "eve", "owner", 1, "rude"},
	"room_invites":     {"den", "i1", "Zoe", "", "person:owner", 1, far, 0},
	"room_hosts":       {"den", "bob", "person:owner", "{}", 1, far},
	"room_credits":     {"sub", "den", "nobody", far},
}

// insertRest gives every table a row that use has left empty, in a hub that rests.
func insertRest(t *testing.T, target string) {
	t.Helper()
	had := read(t, target)
	db, err := store.Open(t.Context(), target, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for table, row := range rest {
		if len(had[table]) > 0 {
			continue
		}
		query := `INSERT INTO ` + table + ` VALUES (?` + strings.Repeat(", ?", len(row)-1) + `)`
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(query, row...)
			return err
		}); err != nil {
			t.Fatalf("a row for %s: %v", table, err)
		}
	}
}

// checkFull says which tables nothing was put into.
func checkFull(t *testing.T, from string, kept tables) {
	t.Helper()
	var empty []string
	for table, rows := range kept {
		if len(rows) == 0 && exceptions[table] == "" && exceptions[from+" "+table] == "" {
			empty = append(empty, table)
		}
	}
	slices.Sort(empty)
	if len(empty) > 0 {
		t.Errorf("nothing is in %s, and a backup of an empty table shows nothing: use the part it belongs to in use_test.go, or give it a row in rest_test.go",
			strings.Join(empty, ", "))
	}
}
