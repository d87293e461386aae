package hubapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// AuditEntry is one entry of the audit trail.
type AuditEntry struct {
	Seq        int64           `json:"seq"`
	At         time.Time       `json:"at"`
	Actor      string          `json:"actor"`
	OnBehalf   string          `json:"on_behalf_of,omitempty"`
	Action     string          `json:"action"`
	Target     string          `json:"target"`
	Outcome    string          `json:"outcome"`
	DurationMS float64         `json:"duration_ms,omitempty"`
	Digest     string          `json:"digest,omitempty"`
	Detail     json.RawMessage `json:"detail,omitempty"`
	Hash       string          `json:"hash"`
}

// AuditFilter narrows a listing; empty fields match everything.
type AuditFilter struct {
	After, Before                  int64
	Limit                          int
	Actor, Action, Target, Outcome string
	Since, Until                   time.Time
}

func (f AuditFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action, "target": f.Target, "outcome": f.Outcome} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, value := range map[string]int64{"after": f.After, "before": f.Before, "limit": int64(f.Limit)} {
		if value > 0 {
			q.Set(name, strconv.FormatInt(value, 10))
		}
	}
	for name, value := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !value.IsZero() {
			q.Set(name, value.UTC().Format(time.RFC3339Nano))
		}
	}
	return q
}

// Audit lists entries, newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	var out struct {
		Entries []AuditEntry `json:"entries"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/audit", f.query(), nil, &out)
	return out.Entries, err
}

// AuditReport is the result of walking the chain.
type AuditReport struct {
	OK          bool   `json:"ok"`
	Entries     int64  `json:"entries"`
	Checkpoints int64  `json:"checkpoints"`
	Problem     string `json:"problem,omitempty"`
	BadSeq      int64  `json:"bad_seq,omitempty"`
	// Kept is where checkpoints outside the database were found, Cuts what they show.
	Kept []AuditKept `json:"kept,omitempty"`
	Cuts []AuditCut  `json:"cuts,omitempty"`
	// Acknowledged tells that a person said of every cut that it is known.
	Acknowledged bool `json:"acknowledged,omitempty"`
}

// AuditKept is about checkpoints kept in one place.
type AuditKept struct {
	Where   string `json:"where"`
	Agree   int    `json:"agree"`
	Last    int64  `json:"last,omitempty"`
	Foreign int    `json:"foreign,omitempty"`
}

// AuditCut says that entries are gone which a kept checkpoint signs.
type AuditCut struct {
	After        int64                 `json:"after"`
	Exact        bool                  `json:"exact,omitempty"`
	UpTo         int64                 `json:"up_to"`
	Kept         string                `json:"kept"`
	Rewritten    bool                  `json:"rewritten,omitempty"`
	Acknowledged *AuditAcknowledgement `json:"acknowledged,omitempty"`
}

// AuditAcknowledgement is who knows of a cut.
type AuditAcknowledgement struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Seq    int64     `json:"seq"`
	Reason string    `json:"reason,omitempty"`
}

// KeptCheckpoints are checkpoints that the caller kept, and where.
type KeptCheckpoints struct {
	Where       string            `json:"where,omitempty"`
	Checkpoints []AuditCheckpoint `json:"checkpoints,omitempty"`
}

// AuditCheckpoint is a hub's signature over its trail up to an entry.
type AuditCheckpoint struct {
	At        int64  `json:"at"`
	Hash      string `json:"hash"`
	PublicKey string `json:"public_key"`
	Seq       int64  `json:"seq"`
	Signature string `json:"signature"`
}

// VerifyAudit walks the whole chain and holds it against what the hub kept.
func (c *Client) VerifyAudit(ctx context.Context) (out AuditReport, err error) {
	return out, c.Do(ctx, http.MethodGet, "/api/audit/verify", nil, nil, &out)
}

// VerifyAuditAgainst does so, also against what the caller kept.
func (c *Client) VerifyAuditAgainst(ctx context.Context, kept KeptCheckpoints) (out AuditReport, err error) {
	return out, c.Do(ctx, http.MethodPost, "/api/audit/verify", nil, kept, &out)
}

// AuditCheckpoints lists the hub's own checkpoints after an entry, or those that the hub
// with a public key (in hex) left there.
func (c *Client) AuditCheckpoints(ctx context.Context, of string, after int64) ([]AuditCheckpoint, error) {
	path := "/api/audit/checkpoints"
	if of != "" {
		path = "/api/audit/witnessed/" + url.PathEscape(of)
	}
	const page = 10_000
	all := []AuditCheckpoint{}
	for {
		var out struct {
			Checkpoints []AuditCheckpoint `json:"checkpoints"`
		}
		q := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(page)}}
		if err := c.Do(ctx, http.MethodGet, path, q, nil, &out); err != nil {
			return nil, err
		}
		all = append(all, out.Checkpoints...)
		if len(out.Checkpoints) < page {
			return all, nil
		}
		after = all[len(all)-1].Seq
	}
}

// AcknowledgeAuditCut says in the trail that its cuts are known, and why.
func (c *Client) AcknowledgeAuditCut(ctx context.Context, reason string, kept KeptCheckpoints) ([]AuditCut, error) {
	var out struct {
		Cuts []AuditCut `json:"cuts"`
	}
	body := struct {
		KeptCheckpoints
		Reason string `json:"reason"`
	}{kept, reason}
	err := c.Do(ctx, http.MethodPost, "/api/audit/acknowledge-cut", nil, body, &out)
	return out.Cuts, err
}

// ExportAudit copies the trail, as JSON lines that can be verified elsewhere.
func (c *Client) ExportAudit(ctx context.Context, w io.Writer) error {
	body, err := c.Open(ctx, http.MethodGet, "/api/audit/export", nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, body)
	return err
}
