package meeting

import (
	"testing"
	"time"

	"parley.internal/protocol/mmp"
)

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"id":"m","action":"offer_skill","from":"a","timestamp":"t","payload":{"skill_id":"s","provenance":{"chain":["a"]}}}`))
	f.Add([]byte(`{"identity":{"name":"A"},"capabilities":["x"],"extensions":["core"]}`))
	f.Add([]byte(`"text"`))
	known := func(string) bool { return true }
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := DecodeMessage(body)
		if err == nil {
			again, err := mmp.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeMessage(again); err != nil {
				t.Fatalf("not read back: %v", err)
			}
			readAll(m)
		}
		_, _ = ReadIntroduction(body)
		r, err := ReadRelayed(mmp.ReadContent(body), RelayMeta{ID: "r", From: "a", Type: "x", CreatedAt: vectorTime}, known)
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
		if got.HopCount >= mmp.MaxHops || got.HopCount < len(got.Chain)-1 || got.Chain[0] != got.Origin || got.Chain[len(got.Chain)-1] != "ada" || repeats(got.Chain) {
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
		if len(doc) > mmp.MaxSkill || !isText(doc) {
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

func FuzzThreads(f *testing.F) {
	f.Add([]byte(`{"id":"m1","action":"propose","from":"ada","to":"bob","timestamp":"t","payload":{"title":"Tea?"}}`), []byte(`{"id":"m2","action":"support","from":"bob","in_reply_to":"m1","timestamp":"t","payload":{"reason":"yes"}}`))
	f.Add([]byte(`{"id":"m1","action":"offer","from":"ada","to":"bob","timestamp":"t","payload":{"terms":{"cups":2}}}`), []byte(`{"id":"m2","action":"agree","from":"ada","in_reply_to":"m1","timestamp":"t","payload":{"terms_hash":"x"}}`))
	f.Add([]byte(`{"id":"m1","action":"offer","from":"ada","to":"bob","timestamp":"t","payload":{"terms":{"a":1e400}}}`), []byte(`{"id":"m2","action":"counter","from":"bob","in_reply_to":"m1","timestamp":"t","payload":{"terms":[]}}`))
	f.Fuzz(func(t *testing.T, opening, move []byte) {
		first, err := DecodeMessage(opening)
		if err != nil {
			return
		}
		next, err := DecodeMessage(move)
		if err != nil {
			return
		}
		if d, err := OpenDiscussion(first, vectorTime); err == nil {
			after, err := d.Apply(next, vectorTime)
			if err != nil && after.State != d.State {
				t.Fatalf("an illegal move changed %s to %s", d.State, after.State)
			}
			_ = after.ExpireIdle(vectorTime.Add(240 * time.Hour))
		}
		if n, err := OpenNegotiation(first, vectorTime); err == nil {
			after, err := n.Apply(next, vectorTime)
			if err != nil && after.State != n.State {
				t.Fatalf("an illegal move changed %s to %s", n.State, after.State)
			}
			if after.State == ThreadAgreed && (next.From == n.Last || next.Action != ActionAgree) {
				t.Fatalf("%s agreed with itself", next.From)
			}
			_ = after.ExpireIdle(vectorTime.Add(240 * time.Hour))
		}
	})
}
