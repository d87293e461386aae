package mmp

import (
	"bytes"
	"net/url"
	"testing"
)

func FuzzParseEnvelope(f *testing.F) {
	w := newWorld(f)
	f.Add(w.Envelope1[0].Blob)
	for _, v := range w.Envelope2 {
		f.Add(v.Blob)
	}
	f.Add("")
	f.Add(b64([]byte(`{"version":1}`)))
	f.Fuzz(func(t *testing.T, blob string) {
		env, err := ParseEnvelope(blob)
		if err != nil {
			if ReasonOf(err) == "" {
				t.Fatalf("untyped: %v", err)
			}
			return
		}
		if env.Version == 1 {
			_, err = env.Open1(w.bob)
		} else {
			_, err = env.Open2(w.ring, w.incoming())
		}
		if err != nil && ReasonOf(err) == "" {
			t.Fatalf("untyped: %v", err)
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"id":"m","action":"offer_skill","from":"a","timestamp":"t","payload":{"skill_id":"s","provenance":{"chain":["a"]}}}`))
	f.Add([]byte(`{"identity":{"name":"A"},"capabilities":["x"],"extensions":["core"]}`))
	f.Add([]byte(`"text"`))
	known := func(string) bool { return true }
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := DecodeMessage(body)
		if err == nil {
			again, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeMessage(again); err != nil {
				t.Fatalf("not read back: %v", err)
			}
			readAll(m)
		}
		_, _ = ReadIntroduction(body)
		r, err := ReadRelayed(ReadContent(body), RelayMeta{ID: "r", From: "a", Type: "x", CreatedAt: vectorTime}, known)
		if err == nil && r.Message != nil {
			readAll(*r.Message)
		}
	})
}

// readAll runs every payload reader; none may panic.
func readAll(m Message) {
	_, _ = m.ReadError()
	_, _ = m.ReadGoodbye()
	_, _ = m.ReadOfferSkill()
	_, _ = m.ReadRequestSkill()
	_, _ = m.ReadDecline()
	_, _ = m.ReadSkillContent()
	_, _ = m.ReadReflect()
	_, _ = m.ReadProposeExtension()
	_, _ = m.ReadEvaluateExtension()
	_, _ = m.ReadShareExtension()
	_, _ = m.ReadAdoptExtension()
	_, _ = OpenDiscussion(m, vectorTime)
	_, _ = OpenNegotiation(m, vectorTime)
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"id":"a","from":"a","to":"b","type":"announcement","tags":["x"],"ttl_hours":1,"encrypted_blob":"x","blob_hash":"y"}`))
	f.Add([]byte(`{"needs":[{"name":"x"}],"proof":{"nonce":"n"},"content":"c","skill_id":"s"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := DecodeRegister(body); err == nil && !ValidID(r.ID) {
			t.Fatalf("%q", r.ID)
		}
		if r, err := DecodeSend(body, "", ""); err == nil && (len(r.Blob) == 0 || !HashFits(r.BlobHash, r.Blob)) {
			t.Fatalf("%+v", r)
		}
		for _, err := range []error{
			second(DecodePost(body, "")), second(DecodeNeeds(body, "")), second(DecodeKey(body, "")), second(DecodeAck(body, "")),
			second(DecodeDeposit(body, "")), second(DecodeAttest(body)), second(DecodeReply(body)), second(DecodeSkillRef(body, true)),
		} {
			if err != nil && len(refusal(err)) > 8 && refusal(err)[:8] == "untyped:" {
				t.Fatal(err)
			}
		}
		if v, err := url.ParseQuery(string(body)); err == nil {
			_, _ = ParseReceiveQuery(v, "")
			_, _ = ParseBrowseQuery(v)
			_, _ = ParseAuditQuery(v)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func FuzzPEM(f *testing.F) {
	w := newWorld(f)
	for _, s := range []string{w.Bob, w.BobPKCS8, w.BobEncrypted, w.BobSPKI, w.BobPKCS1} {
		f.Add([]byte(s))
	}
	hpke, err := EncodeHPKEKeys(w.ring.HPKE)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(hpke)
	f.Add([]byte(`{"format":"parley-key-backup-1","kdf":"argon2id","t":1,"m":8,"p":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := ParsePublicKey(string(text)); err == nil && k.PEM() != string(text) {
			t.Fatal("the text was not kept")
		}
		_, _ = ParsePrivateKey(text, []byte("pass"))
		_, _ = ParseHPKEKeys(text)
		if b, err := parseBackup(text); err == nil {
			_ = b.check()
		}
	})
}

func FuzzKeyEntry(f *testing.F) {
	w := newWorld(f)
	f.Add(decode64(f, w.vectorFile.Entry))
	f.Add([]byte(`{"hpke":[{"kem":"X25519","key":"AA=="}],"issued_at":"2026-01-30"}`))
	f.Fuzz(func(_ *testing.T, raw []byte) { _, _ = parseEntry(raw) })
}

func FuzzProvenance(f *testing.F) {
	f.Add([]byte(`{"origin":"a","chain":["a","b"],"hop_count":1,"attest":[{"agent_id":"a"}]}`))
	f.Add([]byte(`{"chain":[],"hop_count":1e2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := DecodeProvenance(raw)
		if err != nil {
			return
		}
		got, err := p.Receive("ada", "bob")
		if err != nil {
			return
		}
		if got.HopCount >= MaxHops || got.HopCount < len(got.Chain)-1 || got.Chain[0] != got.Origin || got.Chain[len(got.Chain)-1] != "ada" || repeats(got.Chain) {
			t.Fatalf("%+v", got)
		}
		if sent := (&got).Send("bob"); sent.HopCount != max(got.HopCount+1, len(sent.Chain)-1) {
			t.Fatalf("%+v", sent)
		}
	})
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("---\nname: x\nactions: [a, b]\n---\nbody")
	f.Add("---\na: &x [*x]\n---\n")
	f.Add("\uFEFF---\n? [a]\n: b\n---")
	f.Fuzz(func(t *testing.T, doc string) {
		fm, _, err := SplitFrontMatter(doc)
		if err == nil {
			_ = fm.Text("name")
			_, _ = fm.List("actions")
		}
		_, _ = ParseExtension(doc)
		if len(doc) > MaxSkill || !isText(doc) {
			return
		}
		out, err := AnnotateReceived(doc, Received{From: "ada"}, Provenance{Origin: "ada", Chain: []string{"ada"}})
		if err != nil {
			return
		}
		if got, _, err := SplitFrontMatter(out); err == nil && (got.True("public") || !got.Has("_received")) {
			t.Fatalf("%q became %q", doc, out)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,{"d":"\u00e9","c":null}],"a":1.50}`))
	f.Add([]byte(`{"\ud83c\udf0d":1,"a":-0}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		sorted, err := Sorted(raw)
		if err != nil {
			return
		}
		compact, err := Compact(raw)
		if err != nil || len(compact) != len(sorted) {
			t.Fatalf("%q, %v", compact, err)
		}
		if again, err := Sorted(sorted); err != nil || !bytes.Equal(again, sorted) {
			t.Fatalf("%q then %q, %v", sorted, again, err)
		}
	})
}
