package mmp

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "agent_1": true, "A-z.0:~+-": true, "": false, "a b": false, "a/b": false, "a@b": false, "é": false,
		strings.Repeat("a", 128): true, strings.Repeat("a", 129): false, "a\n": false,
	} {
		if ValidID(id) != want {
			t.Errorf("%q: %v; want ValidID(id) to be %v", id, !want, want)
		}
	}
	for addr, want := range map[string]bool{"a": true, "a@east": true, "a@b@c": false, "a@": false, "@b": false, "a@B": false} {
		if ValidAddress(addr) != want {
			t.Errorf("%q: %v; want ValidAddress(addr) to be %v", addr, !want, want)
		}
	}
	for made, prefix := range map[string]string{
		NewAgentID(): "agent_", NewMessageID(): "msg_", NewRelayID(): "relay_", NewPostingID(): "post_", NewSessionID(): "session_",
	} {
		digits := 16
		if prefix == "session_" {
			digits = 12
		}
		if !strings.HasPrefix(made, prefix) || len(made) != len(prefix)+digits || !ValidID(made) {
			t.Errorf("%s", made)
		}
	}
	if len(NewToken()) != 64 || len(NewNonce()) != 43 {
		t.Error("token or nonce")
	}
}

func TestErrorBodies(t *testing.T) {
	if d := cmp.Diff(ErrorBody{Error: "Agent not found", Code: "agent_not_found", Message: "Agent not found"}, ErrAgentNotFound.Body(true)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if b := ErrAgentNotFound.Body(false); b.Error != "agent_not_found" {
		t.Errorf("b is %v; want b.Error to be \"agent_not_found\"", b)
	}
	for _, e := range []Error{ErrToken, ErrNotYourAgent, ErrKeyPinned, ErrUpdateRejected, ErrQueueFull, ErrPlaceFull} {
		if b := e.Body(true); b.Error != e.Code || b.Message != e.Text {
			t.Errorf("%d: %+v; want b.Error to be %v, b.Message to be %v", e.Status, b, e.Code, e.Text)
		}
	}
	if b := ErrRateLimited.WithRetry(7).Body(true); b.RetryAfter != 7 {
		t.Errorf("b is %v; want b.RetryAfter to be 7", b)
	}
	r := &Rejection{ErrDepositRejected, []string{"too_large"}}
	if !errors.Is(r, ErrDepositRejected) || r.Body().Reasons[0] != "too_large" || r.Error() == "" {
		t.Error("rejection")
	}
	for text, e := range map[string]Error{
		"Not found": ErrNotFound, "Method not allowed": ErrMethod, "Posting not found": ErrPostingNotFound,
		"Not authorized to remove this posting":                     ErrRemoveNotAuthorized,
		"Maximum postings reached (10). Remove old postings first.": MaxPostings(10),
		"Public key not found for agent":                            ErrKeyNotFound,
		"Skill not found: x":                                        SkillNotFound("x"), "Skill is not public: x": SkillNotPublic("x"),
	} {
		if e.Error() != text {
			t.Errorf("%q; want e.Error() to be %v", e.Text, text)
		}
	}
}
