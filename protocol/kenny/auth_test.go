package kenny

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
)

// vector is one known-answer run of the handshake.
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

func b64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v vector) verify(t *testing.T) {
	t.Helper()
	if v.Label != transcriptLabel {
		t.Errorf("label %q", v.Label)
	}
	tr, err := Transcript(v.AgentID, b64(t, v.ClientNonce), b64(t, v.ServerNonce))
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(tr); got != v.Transcript {
		t.Errorf("transcript\n%s, want\n%s", got, v.Transcript)
	}
	for _, side := range []struct{ seed, public, sig string }{{v.ServerSeed, v.ServerKey, v.ServerSig}, {v.AgentSeed, v.AgentKey, v.AgentSig}} {
		key, err := ParseSeed(side.seed + "\n")
		if err != nil {
			t.Fatal(err)
		}
		pub, err := ParsePublicKey(side.public)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(key.Public().(ed25519.PublicKey), pub) || FormatPublicKey(pub) != side.public {
			t.Error("the seed does not give that public key")
		}
		sig, err := Sign(key, tr)
		if err != nil || !bytes.Equal(sig, b64(t, side.sig)) {
			t.Errorf("signature differs: %v", err)
		}
		if err := Verify(tr, sig, pub); err != nil {
			t.Error(err)
		}
	}
}

// The vectors of handshake.json are made by vectors_gen.go; that of counted.json,
// whose seeds count up and whose nonces are one byte repeated, is the protocol's
// own and does not depend on us.
func TestHandshakeReproducesTheVectors(t *testing.T) {
	for name, data := range readDir(t, os.DirFS("testdata/vectors")) {
		var all []vector
		if err := json.Unmarshal(data, &all); err != nil || len(all) == 0 {
			t.Fatal(name, len(all), err)
		}
		for _, v := range all {
			t.Run(name+"/"+v.AgentID, v.verify)
		}
	}
}

func testKey(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, 32))
}

func TestVerifyAcceptsAnyPinAndNothingElse(t *testing.T) {
	tr, err := Transcript("m", make([]byte, 32), make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := testKey(1), testKey(2), testKey(3)
	pub := func(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }
	sig, _ := Sign(b, tr)
	if err := Verify(tr, sig, pub(a), pub(b)); err != nil {
		t.Error("second pin:", err)
	}
	for name, err := range map[string]error{
		"other key": Verify(tr, sig, pub(a), pub(c)),
		"no key":    Verify(tr, sig),
		"empty":     Verify(tr, nil, pub(b)),
		"short key": Verify(tr, sig, ed25519.PublicKey("short")),
		"other id": func() error {
			other, _ := Transcript("n", make([]byte, 32), make([]byte, 32))
			return Verify(other, sig, pub(b))
		}(),
	} {
		if !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s: %v; want ErrUnsigned", name, err)
		}
	}
	if _, err := Sign(nil, tr); err == nil {
		t.Error("signed without a key")
	}
}

func TestTranscriptRefusesOddParts(t *testing.T) {
	n := make([]byte, 32)
	for name, f := range map[string]func() ([]byte, error){
		"id with NUL":  func() ([]byte, error) { return Transcript("a\x00b", n, n) },
		"client nonce": func() ([]byte, error) { return Transcript("a", n[:31], n) },
		"server nonce": func() ([]byte, error) { return Transcript("a", n, append(n, 0)) },
	} {
		if _, err := f(); err == nil {
			t.Error(name, "accepted")
		}
	}
}

// littleEndian spells a field element as a key, with the sign bit of x.
func littleEndian(y *big.Int, sign byte) string {
	b := y.FillBytes(make([]byte, 32))
	slices.Reverse(b)
	b[31] |= sign << 7
	return base64.StdEncoding.EncodeToString(b)
}

// smallOrderYs derives the y of all points whose order divides eight: order 1
// and 2 are ±1, order 4 is 0, and order 8 solves d·y⁴ + 2y² − 1 = 0, where
// y⁴·d + 2y² = 1 follows from doubling onto (±√−1, 0).
func smallOrderYs(t *testing.T) []*big.Int {
	t.Helper()
	p := fieldPrime()
	d := curveD(p)
	ys := []*big.Int{big.NewInt(1), new(big.Int).Sub(p, big.NewInt(1)), big.NewInt(0)}
	root := new(big.Int).ModSqrt(new(big.Int).Mod(new(big.Int).Add(big.NewInt(1), d), p), p)
	if root == nil {
		t.Fatal("1 + d has no root")
	}
	for _, sign := range []int64{1, -1} {
		yy := new(big.Int).Mul(root, big.NewInt(sign))
		yy.Sub(yy, big.NewInt(1)).Mul(yy, new(big.Int).ModInverse(d, p)).Mod(yy, p)
		if y := new(big.Int).ModSqrt(yy, p); y != nil {
			ys = append(ys, y, new(big.Int).Sub(p, y))
		}
	}
	if len(ys) != 5 {
		t.Fatalf("found %d small-order y, want 5", len(ys))
	}
	return ys
}

func TestKeysOfSmallOrderAreRefused(t *testing.T) {
	for _, y := range smallOrderYs(t) {
		for sign := range byte(2) {
			if _, err := ParsePublicKey(littleEndian(y, sign)); !errors.Is(err, ErrBadKey) {
				t.Errorf("y=%x sign=%d: %v", y, sign, err)
			}
		}
	}
}

func TestPublicKeysMustBeCanonicalPoints(t *testing.T) {
	p := fieldPrime()
	offCurve := big.NewInt(2)
	for recoverX(offCurve, p) != nil {
		offCurve.Add(offCurve, big.NewInt(1))
	}
	onCurve := big.NewInt(3)
	for recoverX(onCurve, p) == nil {
		onCurve.Add(onCurve, big.NewInt(1))
	}
	good := FormatPublicKey(testKey(9).Public().(ed25519.PublicKey))
	for name, text := range map[string]string{
		"empty":                "",
		"hex":                  hex.EncodeToString(make([]byte, 32)),
		"31 bytes":             base64.StdEncoding.EncodeToString(make([]byte, 31)),
		"33 bytes":             base64.StdEncoding.EncodeToString(make([]byte, 33)),
		"unpadded":             strings.TrimRight(good, "="),
		"line break":           good[:4] + "\n" + good[4:],
		"blank":                good + " ",
		"y above the field":    littleEndian(new(big.Int).Add(p, big.NewInt(4)), 0),
		"y = p":                littleEndian(p, 0),
		"all ones":             base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 32)),
		"not on the curve":     littleEndian(offCurve, 0),
		"negative zero":        littleEndian(big.NewInt(1), 1),
		"signed off the curve": littleEndian(offCurve, 1),
	} {
		if _, err := ParsePublicKey(text); !errors.Is(err, ErrBadKey) {
			t.Errorf("%s: %v; want ErrBadKey", name, err)
		}
	}
	for _, text := range []string{good, littleEndian(onCurve, 0), littleEndian(onCurve, 1)} {
		if _, err := ParsePublicKey(text); err != nil {
			t.Errorf("good key refused: %v", err)
		}
	}
}

func TestGeneratedKeysAreAccepted(t *testing.T) {
	for i := range byte(64) {
		if err := CheckPublicKey(testKey(i).Public().(ed25519.PublicKey)); err != nil {
			t.Fatal(i, err)
		}
	}
}

func TestPinsAreOneOrTwo(t *testing.T) {
	a := FormatPublicKey(testKey(1).Public().(ed25519.PublicKey))
	for _, c := range []struct {
		in   []string
		want int
	}{{nil, 0}, {[]string{a}, 1}, {[]string{a, " " + a + "\n"}, 2}, {[]string{a, a, a}, 0}, {[]string{""}, 0}, {[]string{a, "junk"}, 0}} {
		pins, err := ParsePins(c.in...)
		if len(pins) != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q: %d pins, %v", c.in, len(pins), err)
		}
	}
}

func TestSeedsMustHave32Bytes(t *testing.T) {
	for _, n := range []int{0, 31, 33, 64} {
		if _, err := KeyFromSeed(make([]byte, n)); !errors.Is(err, ErrBadSeed) {
			t.Error(n, err)
		}
	}
	for _, s := range []string{"", "junk!", base64.StdEncoding.EncodeToString(make([]byte, 31))} {
		if _, err := ParseSeed(s); !errors.Is(err, ErrBadSeed) {
			t.Error(s, err)
		}
	}
}

func FuzzPublicKey(f *testing.F) {
	f.Add(make([]byte, 32))
	f.Add([]byte(testKey(1).Public().(ed25519.PublicKey)))
	f.Fuzz(func(t *testing.T, key []byte) {
		if CheckPublicKey(key) != nil {
			return
		}
		// The standard library must agree that it is a point: verification of
		// a wrong signature then fails without a panic.
		if ed25519.Verify(key, []byte("m"), make([]byte, 64)) {
			t.Fatal("an all-zero signature verifies")
		}
	})
}
