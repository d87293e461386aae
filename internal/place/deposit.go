package place

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// depositRow is a skill on the shelf.
type depositRow struct {
	owner, skillID, name, description, tags, format, content, hash, signature, summary, inputOutput, provenance string
	created, updated                                                                                            time.Time
}

const depositColumns = `owner, skill_id, name, description, tags, format, content, hash, signature, summary, input_output, provenance, created_at, updated_at`

func scanDeposit(r store.Row) (*depositRow, error) {
	var d depositRow
	var created, updated int64
	err := r.Scan(&d.owner, &d.skillID, &d.name, &d.description, &d.tags, &d.format, &d.content, &d.hash, &d.signature, &d.summary,
		&d.inputOutput, &d.provenance, &created, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, mmp.ErrDepositNotFound
	}
	d.created, d.updated = store.Time(created), store.Time(updated)
	return &d, err
}

func (d *depositRow) notice() board.TrustNotice {
	return board.TrustNotice{DepositorSigned: d.signature != "", DepositorID: d.owner, Disclaimer: board.Disclaimer}
}

// hashIn is the hash of the content in a form; it is kept bare.
func (d *depositRow) hashIn(form mmp.HashForm) string {
	h, err := mmp.ParseHash(d.hash)
	if err != nil {
		return d.hash
	}
	return form.Of(h)
}

// show is the deposit without its lines.
func (d *depositRow) show(form mmp.HashForm) (board.Deposit, error) {
	tags, err := texts(d.tags)
	notice := d.notice()
	return board.Deposit{
		SkillID: d.skillID, Name: d.name, Description: d.description, Tags: tags, Format: d.format, SizeBytes: len(d.content),
		ContentSizeLines: len(lines(d.content)), DepositedAt: mmp.At(d.updated), DepositorID: d.owner, ContentHash: d.hashIn(form),
		Summary: optional(d.summary), Sections: sections(d.content), InputOutput: raw(d.inputOutput),
		TrustMetadata: d.trustMetadata(), AgentID: d.owner, Type: board.EntryDeposit, TrustNotice: &notice,
	}, err
}

func (d *depositRow) trustMetadata() mmp.Raw {
	if d.signature != "" {
		return mmp.Raw(`{"depositor_signed":true,"verified_by_place":false}`)
	}
	return mmp.Raw(`{"depositor_signed":false,"verified_by_place":false}`)
}

// lines are those a person counts: a final line break ends the last one.
func lines(content string) []string {
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n")
}

// sections are the headings of a Markdown text, outside of code.
func sections(content string) []string {
	out, fenced := []string{}, false
	for _, line := range lines(content) {
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
		}
		if title := strings.TrimLeft(line, "#"); !fenced && title != line && len(line)-len(title) <= 6 && strings.HasPrefix(title, " ") && len(out) < 100 {
			out = append(out, strings.TrimSpace(title))
		}
	}
	return out
}

// checked holds a deposit to the rules of skills; what fails is listed.
func (p *Place) checked(tx *store.Tx, who Visitor, req *board.DepositRequest, refusal mmp.Error) (*depositRow, error) {
	provenance, err := meeting.CheckSkill(meeting.SkillCheck{
		Format: req.Format, Content: req.Content, ContentHash: req.ContentHash, Provenance: req.Provenance, Sender: who.Agent, HashOptional: true,
	})
	var reason meeting.SkillReason
	switch {
	case errors.As(err, &reason):
		return nil, &mmp.Rejection{Refusal: refusal, Reasons: []string{string(reason)}}
	case err != nil:
		return nil, err
	}
	if req.Signature != "" {
		k, err := keyOf(tx, who.Agent, false)
		if err != nil {
			return nil, err
		}
		if !signedBy(k, req.Content, req.Signature) {
			return nil, &mmp.Rejection{Refusal: refusal, Reasons: []string{"signature_invalid"}}
		}
	}
	d := &depositRow{
		owner: who.Agent, skillID: req.SkillID, name: req.Name, description: req.Description, format: req.Format, content: req.Content,
		hash: mmp.HashOf(req.Content).Bare(), signature: req.Signature, summary: req.Summary, inputOutput: string(req.InputOutput),
	}
	if d.tags, err = encodeTexts(req.Tags); err != nil {
		return nil, mmp.InvalidField("tags")
	}
	encoded, err := mmp.Encode(provenance)
	d.provenance = string(encoded)
	return d, err
}

func signedBy(k *keyRow, content, signature string) bool {
	if k == nil {
		return false
	}
	key, err := mmp.ParsePublicKey(k.pem)
	return err == nil && mmp.VerifyContent(key, content, signature) == nil
}

func (d *depositRow) put(tx *store.Tx) error {
	_, err := tx.Exec(`INSERT INTO place_deposits (`+depositColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, skill_id) DO UPDATE SET name = excluded.name, description = excluded.description, tags = excluded.tags,
			format = excluded.format, content = excluded.content, hash = excluded.hash, signature = excluded.signature,
			summary = excluded.summary, input_output = excluded.input_output, provenance = excluded.provenance, updated_at = excluded.updated_at`,
		d.owner, d.skillID, d.name, d.description, d.tags, d.format, d.content, d.hash, d.signature, d.summary, d.inputOutput, d.provenance,
		store.Micros(d.created), store.Micros(d.updated))
	return err
}

// forgetClaims drops what others said of the text that was there before, if it is another.
func (d *depositRow) forgetClaims(tx *store.Tx, before *depositRow) error {
	if before == nil || before.hash == d.hash {
		return nil
	}
	_, err := tx.Exec(`DELETE FROM place_attests WHERE owner = ? AND skill_id = ?`, d.owner, d.skillID)
	return err
}

// attempt counts deposits and updates, good or bad.
func (p *Place) attempt(who Visitor, req *board.DepositRequest) error {
	if err := who.mustHaveToken(); err != nil {
		return err
	}
	if ok, wait := p.deposits.Allow(who.Agent, p.now()); !ok {
		return mmp.ErrRateLimited.WithRetry(retryIn(wait))
	}
	return errors.Join(shown("name", req.Name, "format", req.Format), clean("description", req.Description, "summary", req.Summary))
}

// Deposit puts a skill on the shelf; depositing again replaces it.
func (p *Place) Deposit(ctx context.Context, who Visitor, req *board.DepositRequest) (board.DepositAnswer, error) {
	if err := p.attempt(who, req); err != nil {
		return board.DepositAnswer{}, err
	}
	var d *depositRow
	err := p.write(ctx, func(tx *store.Tx) (err error) {
		if d, err = p.checked(tx, who, req, mmp.ErrDepositRejected); err != nil {
			return err
		}
		var others int
		if err := tx.QueryRow(`SELECT count(*) FROM place_deposits WHERE owner = ? AND skill_id <> ?`, who.Agent, req.SkillID).Scan(&others); err != nil {
			return err
		}
		before, err := depositOf(tx, who.Agent, req.SkillID)
		if err != nil && !errors.Is(err, mmp.ErrDepositNotFound) {
			return err
		}
		if others >= p.c.DepositLimit {
			return &mmp.Rejection{Refusal: mmp.ErrDepositRejected, Reasons: []string{string(meeting.SkillCapacity)}}
		}
		d.created, d.updated = p.now(), p.now()
		if err := d.put(tx); err != nil {
			return err
		}
		if err := d.forgetClaims(tx, before); err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditDeposit, Action: "deposit", AgentID: who.Agent, SkillID: req.SkillID})
	})
	if err != nil {
		return board.DepositAnswer{}, err
	}
	return board.DepositAnswer{Status: board.StatusDeposited, SkillID: req.SkillID, TrustNotice: d.notice()}, nil
}

// UpdateDeposit replaces a skill the caller deposited.
func (p *Place) UpdateDeposit(ctx context.Context, who Visitor, req *board.DepositRequest) (board.UpdateAnswer, error) {
	if err := p.attempt(who, req); err != nil {
		return board.UpdateAnswer{}, err
	}
	out := board.UpdateAnswer{Status: board.StatusUpdated, SkillID: req.SkillID, UpdatedAt: mmp.At(p.now())}
	err := p.write(ctx, func(tx *store.Tx) error {
		old, err := depositOf(tx, who.Agent, req.SkillID)
		if err != nil {
			return err
		}
		d, err := p.checked(tx, who, req, mmp.ErrUpdateRejected)
		if err != nil {
			return err
		}
		d.created, d.updated = old.created, out.UpdatedAt.Time
		out.PreviousHash, out.NewHash = old.hashIn(p.c.Hashes), d.hashIn(p.c.Hashes)
		if err := d.put(tx); err != nil {
			return err
		}
		if err := d.forgetClaims(tx, old); err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditDeposit, Action: "update", AgentID: who.Agent, SkillID: req.SkillID})
	})
	return out, err
}

func depositOf(tx *store.Tx, owner, skillID string) (*depositRow, error) {
	return scanDeposit(tx.QueryRow(`SELECT `+depositColumns+` FROM place_deposits WHERE owner = ? AND skill_id = ?`, owner, skillID))
}

// Withdraw takes the caller's own skill from the shelf.
func (p *Place) Withdraw(ctx context.Context, who Visitor, skillID, reason string) (board.WithdrawAnswer, error) {
	out := board.WithdrawAnswer{Status: board.StatusWithdrawn, SkillID: skillID, OwnerAgentID: who.Agent, WithdrawnAt: mmp.At(p.now())}
	if err := who.mustHaveToken(); err != nil {
		return out, err
	}
	if !mmp.ValidID(skillID) {
		return out, mmp.ErrDepositNotFound
	}
	err := p.write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM place_deposits WHERE owner = ? AND skill_id = ?`, who.Agent, skillID)
		if err != nil {
			return err
		}
		if n == 0 {
			return mmp.ErrDepositNotFound
		}
		if _, err := tx.Exec(`DELETE FROM place_attests WHERE owner = ? AND skill_id = ?`, who.Agent, skillID); err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditDeposit, Action: "withdraw", AgentID: who.Agent, SkillID: skillID})
	})
	return out, err
}

// find looks a deposit up by owner, or the newest of that name.
func (p *Place) find(tx *store.Tx, skillID, owner string) (*depositRow, error) {
	switch {
	case !mmp.ValidID(skillID) || owner != "" && !mmp.ValidID(owner):
		return nil, mmp.ErrDepositNotFound
	case owner != "":
		return depositOf(tx, owner, skillID)
	}
	return scanDeposit(tx.QueryRow(`SELECT `+depositColumns+` FROM place_deposits WHERE skill_id = ? ORDER BY updated_at DESC, owner LIMIT 1`, skillID))
}

// Preview shows a deposit's description and first lines.
func (p *Place) Preview(ctx context.Context, who Visitor, skillID string, q board.PreviewQuery) (out board.Deposit, err error) {
	if err := p.admit(who); err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		d, err := p.find(tx, skillID, q.Owner)
		if err != nil {
			return err
		}
		if out, err = d.show(p.c.Hashes); err != nil {
			return err
		}
		all := lines(d.content)
		first := strings.Join(all[:min(q.Lines, len(all))], "\n")
		out.FirstLines, out.AgentID, out.Type, out.TrustNotice = &first, "", "", nil
		out.Attestations, err = attestations(tx, d.owner, d.skillID)
		return err
	})
	return out, err
}

// SkillContent gives a whole deposit.
func (p *Place) SkillContent(ctx context.Context, who Visitor, skillID, owner string) (out board.ContentAnswer, err error) {
	if err := p.admit(who); err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		d, err := p.find(tx, skillID, owner)
		if err != nil {
			return err
		}
		provenance, err := meeting.DecodeProvenance([]byte(d.provenance))
		out = board.ContentAnswer{
			SkillID: d.skillID, Name: d.name, Content: d.content, ContentHash: d.hashIn(p.c.Hashes), Format: d.format, DepositorID: d.owner,
			Provenance: provenance, TrustNotice: d.notice(),
		}
		return err
	})
	return out, err
}

func (p *Place) depositsOf(tx *store.Tx, owner string) ([]board.Deposit, error) {
	return p.collectDeposits(tx, `WHERE owner = ? ORDER BY updated_at DESC`, owner)
}

func (p *Place) eachDeposit(tx *store.Tx, fn func(board.Deposit)) error {
	all, err := p.collectDeposits(tx, `ORDER BY updated_at DESC LIMIT 500`)
	for _, d := range all {
		fn(d)
	}
	return err
}

func (p *Place) collectDeposits(tx *store.Tx, where string, args ...any) ([]board.Deposit, error) {
	out := []board.Deposit{}
	err := tx.Each(func(r *sql.Rows) error {
		d, err := scanDeposit(r)
		if err != nil {
			return err
		}
		shown, err := d.show(p.c.Hashes)
		out = append(out, shown)
		return err
	}, `SELECT `+depositColumns+` FROM place_deposits `+where, args...)
	return out, err
}

// attestEntry is a claim as previews show it.
type attestEntry struct {
	AgentID      string   `json:"agent_id"`
	Claim        string   `json:"claim"`
	EvidenceHash *string  `json:"evidence_hash"`
	Signed       bool     `json:"signed"`
	AttestedAt   mmp.Time `json:"attested_at"`
}

func attestations(tx *store.Tx, owner, skillID string) ([]mmp.Raw, error) {
	var out []mmp.Raw
	err := tx.Each(func(r *sql.Rows) error {
		var e attestEntry
		var evidence, signature string
		var at int64
		if err := r.Scan(&e.AgentID, &e.Claim, &evidence, &signature, &at); err != nil {
			return err
		}
		e.EvidenceHash, e.Signed, e.AttestedAt = optional(evidence), signature != "", mmp.At(store.Time(at))
		encoded, err := mmp.Encode(e)
		out = append(out, encoded)
		return err
	}, `SELECT agent, claim, evidence_hash, signature, created_at FROM place_attests WHERE owner = ? AND skill_id = ? ORDER BY created_at LIMIT 100`, owner, skillID)
	return out, err
}

// Attest notes what one agent claims about another's deposit. A signature must be
// the claimant's, over the payload it names or else over the claim.
func (p *Place) Attest(ctx context.Context, who Visitor, req *board.AttestRequest) (board.AttestAnswer, error) {
	out := board.AttestAnswer{Status: board.StatusAttested, Valid: true}
	if err := who.mustHaveToken(); err != nil {
		return out, err
	}
	if err := clean("claim", req.Claim, "evidence_hash", req.EvidenceHash, "skill_id", req.SkillID); err != nil {
		return out, err
	}
	err := p.write(ctx, func(tx *store.Tx) error {
		if _, err := depositOf(tx, req.Owner, req.SkillID); errors.Is(err, mmp.ErrDepositNotFound) {
			return mmp.ErrAttestSkill
		} else if err != nil {
			return err
		}
		if req.Signature != "" {
			signed := req.SignedPayload
			if signed == "" {
				signed = req.Claim
			}
			k, err := keyOf(tx, who.Agent, false)
			if err != nil {
				return err
			}
			if !signedBy(k, signed, req.Signature) {
				return mmp.ErrAttestSignature
			}
		}
		n, err := tx.Exec(`INSERT INTO place_attests (owner, skill_id, agent, claim, evidence_hash, signature, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, req.Owner, req.SkillID, who.Agent, req.Claim, req.EvidenceHash, req.Signature, store.Micros(p.now()))
		if err == nil && n == 0 {
			err = mmp.ErrAttestDuplicate
		}
		if err != nil {
			return err
		}
		return p.note(tx, board.AuditEntry{EventType: board.AuditDeposit, Action: "attest", AgentID: who.Agent, SkillID: req.SkillID})
	})
	return out, err
}
