package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// things is how many a doomed hub holds.
const things = 20

func newToken(t *testing.T, h *hubtest.Hub) rest.NewToken {
	t.Helper()
	made, err := hubapi.Call(t.Context(), h.Client(), rest.CreateToken, rest.TokenRequest{Name: "x", Scopes: []string{"approval:read", "status:read"}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// listen opens the live stream of a hub and reports its end.
func listen(t *testing.T, h *hubtest.Hub, token string) (ended <-chan error) {
	t.Helper()
	c := hubapi.New(h.URL, token)
	body, err := hubapi.Open(t.Context(), c, rest.Events, rest.EventsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(body)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "event: hello") {
		t.Fatalf("the stream began with %q, %v", line, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r)
		_ = body.Close()
		done <- err
	}()
	return done
}

func TestATokenRevokedOnOneHubIsRefusedAndCutOffOnTheOther(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	a, b := c.hubs[0], c.hubs[1]
	made := newToken(t, a)
	if got := b.As(made.Token, "GET", "/api/status", ""); got.Status != http.StatusOK {
		t.Fatalf("the other hub does not know the token: %d %s", got.Status, got.Body)
	}
	ended := listen(t, b, made.Token)
	if _, err := hubapi.Call(t.Context(), a.Client(), rest.RevokeToken, rest.ByID{ID: made.ID}); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the stream on the other hub ends", func() bool { return len(ended) > 0 })
	hubtest.Eventually(t, "the other hub refuses the token", func() bool {
		return b.As(made.Token, "GET", "/api/status", "").Status == http.StatusUnauthorized
	})
	// Each folder has an owner's token of its own; both are the same person's.
	if tokens, err := hubapi.Call(t.Context(), b.Client(), rest.ListTokens, rest.None{}); err != nil || len(tokens.Tokens) < 3 {
		t.Errorf("%d tokens, %v", len(tokens.Tokens), err)
	}
}

func TestAnApprovalAskedOnOneHubIsAnsweredOnAnother(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	// The asking hub is this process: agents ask through the inbox, not over REST.
	db := storetest.Open(t, c.db)
	b, err := bus.ConnectNATS(t.Context(), bus.NATSConfig{Servers: bus.Servers{URLs: c.urls()}, Secret: c.secret(t), Name: "asker"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	inbox, err := approval.Open(t.Context(), db, b, approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	owner := ownerID(t, db)
	for _, approved := range []bool{true, false} {
		pending, err := inbox.Ask(t.Context(), approval.Request{Principal: owner, Kind: approval.KindTool, Tool: "shell", RequestedBy: "agent:parley"})
		if err != nil {
			t.Fatal(err)
		}
		got := c.hubs[0].Do("POST", "/api/approvals/"+pending.Item().ID, fmt.Sprintf(`{"approved":%v}`, approved))
		if got.Status != http.StatusOK {
			t.Fatalf("answering: %d %s", got.Status, got.Body)
		}
		ctx, cancel := context.WithTimeout(t.Context(), hubtest.Patience)
		outcome, err := pending.Wait(ctx)
		cancel()
		if err != nil || outcome.Approved() != approved {
			t.Errorf("asked here, answered there: %+v, %v", outcome, err)
		}
	}
}

func ownerID(t *testing.T, db *store.DB) (id string) {
	t.Helper()
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT id FROM people WHERE owner = 1`).Scan(&id)
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTheTrailThatThreeHubsWriteIsOneChain(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	const each = 40
	var writers sync.WaitGroup
	for _, h := range c.hubs {
		for range 2 {
			writers.Go(func() {
				for range each {
					if got := h.Do("POST", "/api/tokens", `{"name":"x","scopes":["status:read"]}`); got.Status != http.StatusOK {
						t.Errorf("%d %s %v", got.Status, got.Body, got.Err)
						return
					}
				}
			})
		}
	}
	writers.Wait()
	for _, h := range c.hubs {
		report, err := hubapi.Call(t.Context(), h.Client(), rest.VerifyAudit, rest.None{})
		if err != nil || !report.OK || report.Entries < 2*each*int64(len(c.hubs)) {
			t.Errorf("%+v, %v; want no error, report.OK, report.Entries to be at least 2*each*int64(len(c.hubs))", report, err)
		}
	}
	// One hub is stopped, and signs with its own key what it leaves; one dies. The chain goes on.
	c.hubs[2].Terminate()
	if state := c.hubs[2].Wait(); state.ExitCode() != 0 {
		t.Errorf("the hub ended with %s", state)
	}
	newToken(t, c.hubs[1])
	c.hubs[1].Kill9()
	newToken(t, c.hubs[0])
	if report, err := hubapi.Call(t.Context(), c.hubs[0].Client(), rest.VerifyAudit, rest.None{}); err != nil || !report.OK {
		t.Errorf("after the others were gone: %+v, %v", report, err)
	}
}

func TestTheThingsOfAKilledHubAreTakenOver(t *testing.T) {
	t.Parallel()
	target := pgtest.URL(t)
	db := storetest.Open(t, target)
	leases, err := lease.Join(t.Context(), db, "heir", lease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer leases.Close(context.Background())
	doomed := startHolder(t, target)
	var held *lease.HeldError
	if _, err := leases.Acquire(t.Context(), "task.0"); !errors.As(err, &held) || !strings.HasPrefix(held.Owner, "doomed/") {
		t.Fatalf("while it lives: %v", err)
	}
	if err := doomed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = doomed.Wait()
	var orphans []string
	hubtest.Eventually(t, "its things are orphans", func() bool {
		orphans, err = leases.Orphans(t.Context(), "task.", 100)
		return err == nil && len(orphans) == things
	})
	for _, name := range orphans {
		l, err := leases.Acquire(t.Context(), name)
		if err != nil || l.Epoch() != 2 {
			t.Fatalf("taking %s over: %v", name, err)
		}
		if err := db.Write(t.Context(), l.Check); err != nil {
			t.Errorf("%s cannot be written: %v", name, err)
		}
	}
}

func startHolder(t *testing.T, target string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVar+"="+target)
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "holding ") {
		t.Fatalf("the other hub said %q, %v", line, err)
	}
	return cmd
}

// Each node in turn: whichever a hub is connected to, it loses that one once.
func TestANATSNodeThatDiesIsSurvived(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	a, b := c.hubs[0], c.hubs[1]
	for i, node := range c.nodes {
		made := newToken(t, a)
		ended := listen(t, b, made.Token)
		node.Kill()
		if _, err := hubapi.Call(t.Context(), a.Client(), rest.RevokeToken, rest.ByID{ID: made.ID}); err != nil {
			t.Fatalf("with node %d down: %v", i, err)
		}
		hubtest.Eventually(t, "the stream on the other hub ends", func() bool { return len(ended) > 0 })
		for _, h := range c.hubs {
			hubtest.Eventually(t, "the hub is ready on the other nodes", func() bool { return h.Do("GET", "/readyz", "").Status == http.StatusOK })
		}
		node.Restart()
	}
}
