// Package passkeytest is a passkey device in software, for tests: one key, attestation "none".
//
//	device := passkeytest.New(t, "hub.example", "https://hub.example")
//	answer := device.Create(t, options) // to what navigator.credentials.create is given
//	answer = device.Get(t, options)     // to what navigator.credentials.get is given
package passkeytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// Device is a passkey.
type Device struct {
	// Site is the relying party it was made for, Origin what the browser around it says it is on.
	Site, Origin string
	// Count is how often it was used.
	Count uint32

	key  *ecdsa.PrivateKey
	id   []byte
	user []byte
}

// New makes a passkey.
func New(t testing.TB, site, origin string) *Device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &Device{Site: site, Origin: origin, key: key, id: id}
}

// Impostor is a device that says it is another, without having its key.
func (d *Device) Impostor(t testing.TB) *Device {
	t.Helper()
	out := New(t, d.Site, d.Origin)
	out.id, out.user, out.Count = d.id, d.user, d.Count+100
	return out
}

// Create answers the options of a registration.
func (d *Device) Create(t testing.TB, options []byte) []byte {
	t.Helper()
	challenge, user := read(t, options)
	d.user = user
	attested := bytes.Join([][]byte{make([]byte, 16), {0, byte(len(d.id))}, d.id, d.cose(t)}, nil)
	object := bytes.Join([][]byte{{0xa3}, cborText("fmt"), cborText("none"), cborText("attStmt"), {0xa0}, cborText("authData"), cborBytes(d.data(attested))}, nil)
	return d.response(t, map[string]any{"clientDataJSON": b64(d.client("webauthn.create", challenge)), "attestationObject": b64(object)})
}

// Get answers the options of a login.
func (d *Device) Get(t testing.TB, options []byte) []byte {
	t.Helper()
	challenge, _ := read(t, options)
	d.Count++
	data, client := d.data(nil), d.client("webauthn.get", challenge)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return d.response(t, map[string]any{"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": b64(d.user)})
}

// read is the part of a ceremony's options that a passkey needs.
func read(t testing.TB, options []byte) (challenge string, user []byte) {
	t.Helper()
	var o struct {
		PublicKey struct {
			Challenge string
			User      struct{ ID string }
		} `json:"publicKey"`
	}
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatal(err)
	}
	user, _ = base64.RawURLEncoding.DecodeString(o.PublicKey.User.ID)
	return o.PublicKey.Challenge, user
}

// cose is the public key as WebAuthn writes it: {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
func (d *Device) cose(t testing.TB) []byte {
	t.Helper()
	point, err := d.key.PublicKey.Bytes() // 4 ‖ x ‖ y
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join([][]byte{{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21}, append([]byte{0x58, 32}, point[1:33]...), {0x22}, append([]byte{0x58, 32}, point[33:65]...)}, nil)
}

// data is the authenticator data: present and verified, with the key if attested.
func (d *Device) data(attested []byte) []byte {
	hash := sha256.Sum256([]byte(d.Site))
	flags := byte(0x05)
	if attested != nil {
		flags |= 0x40
	}
	return bytes.Join([][]byte{hash[:], {flags}, binary.BigEndian.AppendUint32(nil, d.Count), attested}, nil)
}

func (d *Device) client(kind, challenge string) []byte {
	data, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": d.Origin, "crossOrigin": false})
	return data
}

func (d *Device) response(t testing.TB, inner map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"id": b64(d.id), "rawId": b64(d.id), "type": "public-key", "response": inner, "clientExtensionResults": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// cborBytes is a CBOR byte string; the maps above are written out by hand.
func cborBytes(b []byte) []byte {
	return append([]byte{0x59, byte(len(b) >> 8), byte(len(b))}, b...)
}

func cborText(s string) []byte { return append([]byte{0x60 + byte(len(s))}, s...) }
