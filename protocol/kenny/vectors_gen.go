//go:build ignore

// This program writes testdata/vectors/handshake.json. It builds the signed
// byte string by hand and not with the package it is a test of.
//
//	go run vectors_gen.go
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
)

type vector struct {
	Label       string `json:"label"`
	AgentID     string `json:"agent_id"`
	ServerSeed  string `json:"server_seed_b64"`
	AgentSeed   string `json:"agent_seed_b64"`
	ServerKey   string `json:"server_public_key_b64"`
	AgentKey    string `json:"agent_public_key_b64"`
	ClientNonce string `json:"client_nonce_b64"`
	ServerNonce string `json:"server_nonce_b64"`
	Transcript  string `json:"transcript_hex"`
	ServerSig   string `json:"server_sig_b64"`
	AgentSig    string `json:"agent_sig_b64"`
}

func main() {
	var all []vector
	for _, id := range []string{"a", "press-room.07", "Long_Name-0123456789.abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOP"} {
		all = append(all, make1(id))
	}
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("testdata/vectors/handshake.json", append(out, '\n'), 0o644); err != nil {
		log.Fatal(err)
	}
}

func make1(id string) vector {
	server, agent := ed25519.NewKeyFromSeed(derive(id, "server seed")), ed25519.NewKeyFromSeed(derive(id, "agent seed"))
	cn, sn := derive(id, "client nonce"), derive(id, "server nonce")
	msg := []byte("kenny-mutual-auth-v1\x00" + id + "\x00" + string(cn) + "\x00" + string(sn))
	b64 := base64.StdEncoding.EncodeToString
	return vector{
		Label: "kenny-mutual-auth-v1", AgentID: id,
		ServerSeed: b64(server.Seed()), AgentSeed: b64(agent.Seed()),
		ServerKey: b64(server.Public().(ed25519.PublicKey)), AgentKey: b64(agent.Public().(ed25519.PublicKey)),
		ClientNonce: b64(cn), ServerNonce: b64(sn), Transcript: hex.EncodeToString(msg),
		ServerSig: b64(ed25519.Sign(server, msg)), AgentSig: b64(ed25519.Sign(agent, msg)),
	}
}

// derive makes throw-away material that everyone can recompute.
func derive(id, what string) []byte {
	sum := sha256.Sum256([]byte("parley test vector, not a secret: " + what + " of " + id))
	return sum[:]
}
