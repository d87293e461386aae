package mmp_test

import (
	"testing"

	"parley.internal/protocol/mmp"
)

// What an agent shows one caller at one address is of no use at another, for another
// caller, for another question, or as the answer to a place's challenge.
func TestAnEncounterIsBoundToAddressCallerAndNonce(t *testing.T) {
	key, err := mmp.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	asked := mmp.Encounter{Address: "bob.example", Caller: "ada", Nonce: "n1"}
	proof, err := asked.Sign(key)
	if err != nil || asked.Verify(key.Public(), proof) != nil {
		t.Fatalf("the agent's own proof does not verify: %v", err)
	}
	for name, other := range map[string]mmp.Encounter{
		"address": {Address: "liar.example", Caller: "ada", Nonce: "n1"}, "caller": {Address: "bob.example", Caller: "eve", Nonce: "n1"},
		"nonce": {Address: "bob.example", Caller: "ada", Nonce: "n2"},
	} {
		if other.Verify(key.Public(), mmp.Proof{Nonce: other.Nonce, Signature: proof.Signature}) == nil {
			t.Errorf("the proof holds for another %s", name)
		}
	}
	challenge := mmp.Challenge{PlaceKey: "", Address: "bob.example", AgentID: "ada", Nonce: "n1"}
	if challenge.Verify(key.Public(), proof) == nil {
		t.Error("the proof answers a place's challenge")
	}
	for _, bad := range []mmp.Encounter{{}, {Address: "a\nb", Caller: "ada", Nonce: "n"}, {Address: "a", Caller: "a b", Nonce: "n"}, {Address: "a", Caller: "ada", Nonce: "n\n"}} {
		if _, err := bad.Sign(key); err == nil {
			t.Errorf("%+v was signed", bad)
		}
	}
}
