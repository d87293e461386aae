package mmp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// rewrap changes members of a sealed message; a nil value removes one.
func rewrap(t *testing.T, blob string, change map[string]any) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(decode64(t, blob), &m); err != nil {
		t.Fatal(err)
	}
	for k, v := range change {
		if v == nil {
			delete(m, k)
			continue
		}
		m[k] = v
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func member(t *testing.T, blob, name string) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(decode64(t, blob), &m); err != nil {
		t.Fatal(err)
	}
	s, _ := m[name].(string)
	return decode64(t, s)
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func flipped(b []byte) string {
	c := append([]byte(nil), b...)
	c[len(c)/2] ^= 1
	return b64(c)
}

func TestEnvelope1MembersAreInOrderAndNothingElse(t *testing.T) {
	w := newWorld(t)
	blob, err := Seal1(w.bob.Public(), []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(decode64(t, blob))
	want := `{"version":1,"algorithm":"RSA-2048+AES-256-GCM","encrypted_key":"`
	if !strings.HasPrefix(text, want) {
		t.Errorf("starts %.80s", text)
	}
	last := 0
	for _, name := range []string{`"encrypted_key"`, `"iv"`, `"auth_tag"`, `"ciphertext"`} {
		if i := strings.Index(text, name); i < last {
			t.Errorf("%s is out of order", name)
		} else {
			last = i
		}
	}
}

func TestEnvelope1RefusesCleanly(t *testing.T) {
	w := newWorld(t)
	blob := w.Envelope1[0].Blob
	for name, c := range map[string]struct {
		blob string
		key  *PrivateKey
		want Reason
	}{
		"another key":         {blob, w.ada, ReasonUndecryptable},
		"cut base64":          {blob[:len(blob)-3], w.bob, ReasonMalformed},
		"line break":          {blob[:40] + "\n" + blob[40:], w.bob, ReasonMalformed},
		"url alphabet":        {"-_" + blob[2:], w.bob, ReasonMalformed},
		"not JSON":            {b64([]byte("hello")), w.bob, ReasonMalformed},
		"a list":              {b64([]byte("[1]")), w.bob, ReasonMalformed},
		"other version":       {rewrap(t, blob, map[string]any{"version": 3}), w.bob, ReasonUnsupportedEnvelope},
		"version as text":     {rewrap(t, blob, map[string]any{"version": "1"}), w.bob, ReasonUnsupportedEnvelope},
		"no version":          {rewrap(t, blob, map[string]any{"version": nil}), w.bob, ReasonUnsupportedEnvelope},
		"no key":              {rewrap(t, blob, map[string]any{"encrypted_key": nil}), w.bob, ReasonMalformed},
		"short iv":            {rewrap(t, blob, map[string]any{"iv": b64(make([]byte, 11))}), w.bob, ReasonMalformed},
		"short tag":           {rewrap(t, blob, map[string]any{"auth_tag": b64(make([]byte, 12))}), w.bob, ReasonMalformed},
		"inner base64 broken": {rewrap(t, blob, map[string]any{"iv": "AAAAAAAAAAAAAAA\n"}), w.bob, ReasonMalformed},
		"iv as number":        {rewrap(t, blob, map[string]any{"iv": 7}), w.bob, ReasonMalformed},
		"tag changed":         {rewrap(t, blob, map[string]any{"auth_tag": flipped(member(t, blob, "auth_tag"))}), w.bob, ReasonUndecryptable},
		"text changed":        {rewrap(t, blob, map[string]any{"ciphertext": flipped(member(t, blob, "ciphertext"))}), w.bob, ReasonUndecryptable},
		"key changed":         {rewrap(t, blob, map[string]any{"encrypted_key": flipped(member(t, blob, "encrypted_key"))}), w.bob, ReasonUndecryptable},
		"too large":           {strings.Repeat("A", MaxBlob+4), w.bob, ReasonTooLarge},
	} {
		env, err := ParseEnvelope(c.blob)
		if err == nil {
			_, err = env.Open1(c.key)
		}
		if ReasonOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestEnvelope1OnlyVersionDecides(t *testing.T) {
	w := newWorld(t)
	blob := rewrap(t, w.Envelope1[0].Blob, map[string]any{"algorithm": "something else", "extra": map[string]any{"a": 1}})
	env, err := ParseEnvelope(blob)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := env.Open1(w.bob); err != nil || string(plain) != w.Envelope1[0].Plain {
		t.Error(err)
	}
}

func TestSealingRefusesEmptyAndTooLarge(t *testing.T) {
	w := newWorld(t)
	key := w.bob.Public()
	if _, err := Seal1(key, nil); !errors.Is(err, ErrPlainEmpty) {
		t.Error(err)
	}
	most := 589_000
	for Size1(key, most+1) <= MaxBlob {
		most++
	}
	if blob, err := Seal1(key, make([]byte, most)); err != nil || len(blob) > MaxBlob {
		t.Errorf("%d bytes: %v", most, err)
	}
	if _, err := Seal1(key, make([]byte, most+1)); !errors.Is(err, ErrPlainTooLarge) {
		t.Errorf("%d bytes: %v", most+1, err)
	}
	h := Header{From: "ada", To: "bob", ID: "m", Type: "note", Time: vectorTime}
	if _, err := Seal2(w.ada, key, w.entry, h, nil); !errors.Is(err, ErrPlainEmpty) {
		t.Error(err)
	}
	if _, err := Seal2(w.ada, key, w.entry, h, make([]byte, 700_000)); !errors.Is(err, ErrPlainTooLarge) {
		t.Error(err)
	}
}

func TestContentIsJSONIfItReadsAsJSON(t *testing.T) {
	for plain, want := range map[string]Content{
		`{"a": "<b>"}`: {JSON: Raw(`{"a":"<b>"}`)},
		`hello`:        {Text: "hello"},
		`7`:            {JSON: Raw("7")},
		`{"a":`:        {Text: `{"a":`},
		"bad \xff":     {Text: "bad \uFFFD"},
	} {
		got := ReadContent([]byte(plain))
		if string(got.JSON) != string(want.JSON) || got.Text != want.Text {
			t.Errorf("%q: %+v", plain, got)
		}
	}
	if p, err := Plain(map[string]string{"a": "<&>\u2028"}); err != nil || string(p) != "{\"a\":\"<&>\u2028\"}" {
		t.Errorf("%s %v; want no error, string(p) to be \"{\\\"a\\\":\\\"<&>\\u2028\\\"}\"", p, err)
	}
	if p, err := Plain("<plain>"); err != nil || string(p) != "<plain>" {
		t.Errorf("%s %v; want no error, string(p) to be \"<plain>\"", p, err)
	}
	if _, err := Plain("\xff"); err == nil {
		t.Error("bad UTF-8 was sealed")
	}
}

// seal2 seals from ada to bob with one suite.
func (w *world) seal2(t *testing.T, kem KEM, h Header) string {
	t.Helper()
	blob, err := Seal2(w.ada, w.bob.Public(), w.only(kem), h, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func header() Header {
	return Header{From: "ada@east", To: "bob@west", ID: "msg_1", Type: "note", Time: vectorTime}
}

func TestEnvelope2BindsEveryField(t *testing.T) {
	w := newWorld(t)
	for _, kem := range []KEM{KEMHybrid, KEMX25519, ""} {
		blob := w.seal2(t, kem, header())
		for _, name := range []string{"protected", "enc", "encrypted_key", "iv", "auth_tag", "ciphertext", "signature"} {
			value := member(t, blob, name)
			if len(value) == 0 {
				continue
			}
			w.refused(t, rewrap(t, blob, map[string]any{name: flipped(value)}), name+" changed")
			w.refused(t, rewrap(t, blob, map[string]any{name: nil}), name+" removed")
		}
		w.refused(t, rewrap(t, blob, map[string]any{"algorithm": "MMP2-NONE"}), "algorithm")
		w.refused(t, rewrap(t, blob, map[string]any{"iv": b64(make([]byte, 13))}), "iv added or too long")
	}
}

func (w *world) refused(t *testing.T, blob, what string) {
	t.Helper()
	env, err := ParseEnvelope(blob)
	if err == nil {
		_, err = env.Open2(w.ring, w.incoming())
	}
	if ReasonOf(err) == "" {
		t.Errorf("%s: not refused (%v)", what, err)
	}
}

// TestEnvelope2HeaderIsBound rewrites single members of the header, as a place in
// the middle could, both with the sender's signature kept and with its own.
func TestEnvelope2HeaderIsBound(t *testing.T) {
	w := newWorld(t)
	blob := w.seal2(t, KEMX25519, header())
	for name, c := range map[string]struct {
		value string
		want  Reason
	}{
		"from": {"eve", ReasonSenderMismatch}, "from_key": {w.BobKeyID, ReasonSenderKey}, "id": {"msg_2", ReasonSignature},
		"to": {"eve", ReasonNotForMe}, "to_key": {w.ada.Public().KeyID(), ReasonOtherKey},
		"ts": {"2026-01-30T12:00:01Z", ReasonSignature}, "type": {"offer_skill", ReasonTypeMismatch},
	} {
		var head map[string]string
		if err := json.Unmarshal(member(t, blob, "protected"), &head); err != nil {
			t.Fatal(err)
		}
		head[name] = c.value
		raw, err := EncodeSorted(head)
		if err != nil {
			t.Fatal(err)
		}
		env, err := ParseEnvelope(rewrap(t, blob, map[string]any{"protected": b64(raw)}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.Open2(w.ring, w.incoming()); ReasonOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		// Signed anew by the true sender: now the cipher notices.
		if env.Signature, err = w.ada.signRaw(env.signed()); err != nil {
			t.Fatal(err)
		}
		if name == "id" || name == "ts" {
			if _, err := env.Open2(w.ring, w.incoming()); ReasonOf(err) != ReasonUndecryptable {
				t.Errorf("%s, signed anew: %v", name, err)
			}
		}
	}
}

func TestEnvelope2ComparesWithWhatCameAround(t *testing.T) {
	w := newWorld(t)
	blob := w.seal2(t, KEMHybrid, header())
	for name, c := range map[string]struct {
		change func(*Incoming)
		ring   Keyring
		want   Reason
	}{
		"fits":              {func(*Incoming) {}, w.ring, ""},
		"with suffixes":     {func(in *Incoming) { in.From, in.Me = "ada@elsewhere", "bob@here" }, w.ring, ""},
		"another me":        {func(in *Incoming) { in.Me = "bobby" }, w.ring, ReasonNotForMe},
		"another key of me": {func(*Incoming) {}, Keyring{RSA: w.ada, HPKE: w.ring.HPKE}, ReasonOtherKey},
		"another sender":    {func(in *Incoming) { in.From = "eve" }, w.ring, ReasonSenderMismatch},
		"another type":      {func(in *Incoming) { in.Type = "goodbye" }, w.ring, ReasonTypeMismatch},
		"no key held":       {func(in *Incoming) { in.SenderKey = nil }, w.ring, ReasonSenderKey},
		"another key held":  {func(in *Incoming) { in.SenderKey = w.bob.Public() }, w.ring, ReasonSenderKey},
		"no private key":    {func(*Incoming) {}, Keyring{RSA: w.bob}, ReasonNoKey},
		"a day old":         {func(in *Incoming) { in.Now = vectorTime.Add(MaxAge) }, w.ring, ""},
		"older":             {func(in *Incoming) { in.Now = vectorTime.Add(MaxAge + time.Second) }, w.ring, ReasonTooOld},
		"five minutes on":   {func(in *Incoming) { in.Now = vectorTime.Add(-MaxAhead) }, w.ring, ""},
		"further on":        {func(in *Incoming) { in.Now = vectorTime.Add(-MaxAhead - time.Second) }, w.ring, ReasonFromFuture},
		"seen":              {func(in *Incoming) { in.Seen = func(ReplayKey) bool { return true } }, w.ring, ReasonReplayed},
	} {
		in := w.incoming()
		c.change(&in)
		env, err := ParseEnvelope(blob)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := env.Open2(c.ring, in)
		if ReasonOf(err) != c.want || (err == nil) != (opened != nil) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestEnvelope2ReplayKeyIsSenderKeyAndID(t *testing.T) {
	w := newWorld(t)
	seen := map[ReplayKey]bool{}
	in := w.incoming()
	in.Seen = func(k ReplayKey) bool { was := seen[k]; seen[k] = true; return was }
	env, err := ParseEnvelope(w.seal2(t, "", header()))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := env.Open2(w.ring, in)
	if err != nil {
		t.Fatal(err)
	}
	if opened.Replay != (ReplayKey{w.ada.Public().KeyID(), "msg_1"}) {
		t.Errorf("%+v", opened.Replay)
	}
	if _, err := env.Open2(w.ring, in); ReasonOf(err) != ReasonReplayed {
		t.Error(err)
	}
}

func TestEnvelopesAreNotTakenForEachOther(t *testing.T) {
	w := newWorld(t)
	one, err := ParseEnvelope(w.Envelope1[0].Blob)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Open2(w.ring, w.incoming()); ReasonOf(err) != ReasonUnsupportedEnvelope {
		t.Error(err)
	}
	two, err := ParseEnvelope(w.Envelope2[0].Blob)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Open1(w.bob); ReasonOf(err) != ReasonUnsupportedEnvelope {
		t.Error(err)
	}
}

func TestSenderTakesTheFirstSuiteOffered(t *testing.T) {
	w := newWorld(t)
	both := *w.entry
	both.HPKE = []HPKEPublic{w.entry.HPKE[1], w.entry.HPKE[0]}
	for name, c := range map[string]struct {
		entry *KeyEntry
		want  string
	}{
		"both": {&both, SuiteHybrid}, "X25519": {w.only(KEMX25519), SuiteX25519}, "RSA only": {w.only(""), SuiteOAEP},
	} {
		blob, err := Seal2(w.ada, w.bob.Public(), c.entry, header(), []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		env, err := ParseEnvelope(blob)
		if err != nil || env.Algorithm != c.want {
			t.Errorf("%s: %s, %v; want no error, env.Algorithm to be %v", name, env.Algorithm, err, c.want)
		}
	}
	v1 := *w.entry
	v1.Envelopes = []int{1}
	if _, err := Seal2(w.ada, w.bob.Public(), &v1, header(), []byte("x")); !errors.Is(err, ErrInvalidEntry) {
		t.Error(err)
	}
	if _, err := Seal2(w.ada, w.ada.Public(), w.entry, header(), []byte("x")); !errors.Is(err, ErrInvalidEntry) {
		t.Error("sealed for a key the entry does not name")
	}
}

func TestNoDowngradeOnceVersion2WasSeen(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		entry        *KeyEntry
		known, allow bool
		want         int
		err          error
	}{
		"entry":               {w.entry, false, false, 2, nil},
		"no entry":            {nil, false, false, 1, nil},
		"entry has vanished":  {nil, true, false, 0, ErrDowngrade},
		"vanished but wanted": {nil, true, true, 1, nil},
		"entry says 1 only":   {&KeyEntry{Envelopes: []int{1}}, true, false, 0, ErrDowngrade},
	} {
		got, err := ChooseEnvelope(c.entry, c.known, c.allow)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v; want got to be %v, %v", name, got, err, c.want, c.err)
		}
	}
}
