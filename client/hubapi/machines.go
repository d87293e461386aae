package hubapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Machine is a managed computer.
type Machine struct {
	ID       string    `json:"agent_id"`
	Name     string    `json:"name,omitempty"`
	Hostname string    `json:"hostname"`
	Online   bool      `json:"online"`
	Presence string    `json:"presence"`
	LastSeen time.Time `json:"last_seen,omitzero"`
	Meta     struct {
		OS      string `json:"os"`
		Version string `json:"version"`
		Arch    string `json:"arch,omitempty"`
	} `json:"meta"`
	Overall   string    `json:"overall"`
	Flagged   []string  `json:"flagged_sections"`
	Summary   string    `json:"summary,omitempty"`
	Collected time.Time `json:"collected_at,omitzero"`
	Tags      []string  `json:"tags"`
	Enrolled  bool      `json:"enrolled"`
	Control   string    `json:"control,omitempty"`
}

// EnrolToken is a one-time enrolment token, shown once.
type EnrolToken struct {
	Machine         string    `json:"agent_id"`
	Token           string    `json:"token"`
	ServerPublicKey string    `json:"server_public_key"`
	URL             string    `json:"url"`
	Expires         time.Time `json:"expires_at"`
}

// EnrolRequest asks for one.
type EnrolRequest struct {
	Rekey  bool   `json:"rekey,omitempty"`
	GraceS *int64 `json:"grace_s,omitempty"`
	TTLS   int64  `json:"ttl_s,omitempty"`
	Legacy bool   `json:"legacy,omitempty"`
}

// MachineCall is something to do on a machine.
type MachineCall struct {
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args,omitempty"`
	TimeoutS  int64           `json:"timeout_s,omitempty"`
	QueueForS int64           `json:"queue_for_s,omitempty"`
	// ApprovalWaitS is how long the hub waits for a person's yes, where one is
	// needed, before it answers that it asks; nil leaves it to the hub.
	ApprovalWaitS *int64 `json:"approval_wait_s,omitempty"`
}

// The states of a call that clients act on.
const (
	CallAsking    = "asking"
	CallQueued    = "queued"
	CallDone      = "done"
	CallCancelled = "cancelled"
)

// CallAnswer is what became of it. State is queued for one that waits for its
// machine, asking for one that waits for a person's yes to the question ApprovalID;
// CallStatus tells how either goes on.
type CallAnswer struct {
	OK         bool            `json:"ok"`
	CallID     string          `json:"call_id"`
	State      string          `json:"state,omitempty"`
	ApprovalID string          `json:"approval_id,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Expires    time.Time       `json:"expires_at,omitzero"`
	Duration   int64           `json:"duration_ms,omitempty"`
}

// CallStatus is a call looked at later.
type CallStatus struct {
	CallID  string          `json:"call_id"`
	Machine string          `json:"agent_id"`
	Tool    string          `json:"tool"`
	State   string          `json:"state"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
	Expires time.Time `json:"expires_at,omitzero"`
}

// Patient is the client without a limit for the beginning of an answer: what a
// machine does may take an hour.
func (c *Client) Patient() *Client {
	own := *c
	if t, ok := c.http.Transport.(*http.Transport); ok {
		t = t.Clone()
		t.ResponseHeaderTimeout = 0
		own.http = &http.Client{Transport: t}
	}
	return &own
}

func machinePath(id, rest string) string { return "/api/machines/" + url.PathEscape(id) + rest }

// Machines lists the machines, all pages of them.
func (c *Client) Machines(ctx context.Context, query url.Values) ([]Machine, error) {
	all := []Machine{}
	if query == nil {
		query = url.Values{}
	}
	for {
		var page struct {
			Machines []Machine `json:"machines"`
			Next     string    `json:"next_cursor"`
		}
		if err := c.Do(ctx, http.MethodGet, "/api/machines", query, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Machines...)
		if page.Next == "" {
			return all, nil
		}
		query.Set("cursor", page.Next)
	}
}

// Machine finds one machine.
func (c *Client) Machine(ctx context.Context, id string) (m Machine, err error) {
	err = c.Do(ctx, http.MethodGet, machinePath(id, ""), nil, nil, &m)
	return m, err
}

// MachineToken makes a one-time enrolment token, and the machine if need be.
func (c *Client) MachineToken(ctx context.Context, id string, req EnrolRequest) (t EnrolToken, err error) {
	err = c.Do(ctx, http.MethodPost, machinePath(id, "/token"), nil, req, &t)
	return t, err
}

// RemoveMachine takes a machine out of the fleet.
func (c *Client) RemoveMachine(ctx context.Context, id string) error {
	return c.Do(ctx, http.MethodDelete, machinePath(id, ""), nil, nil, nil)
}

// CallMachine does something on a machine and waits for it.
func (c *Client) CallMachine(ctx context.Context, id string, call MachineCall) (a CallAnswer, err error) {
	err = c.Patient().Do(ctx, http.MethodPost, machinePath(id, "/calls"), nil, call, &a)
	return a, err
}

// CollectMachine measures a machine now.
func (c *Client) CollectMachine(ctx context.Context, id string, sections []string) (a CallAnswer, err error) {
	err = c.Patient().Do(ctx, http.MethodPost, machinePath(id, "/collect"), nil, map[string]any{"sections": sections}, &a)
	return a, err
}

func callPath(id string) string { return "/api/fleet/calls/" + url.PathEscape(id) }

// CallStatus looks at a call again.
func (c *Client) CallStatus(ctx context.Context, id string) (st CallStatus, err error) {
	err = c.Do(ctx, http.MethodGet, callPath(id), nil, nil, &st)
	return st, err
}

// CancelCall takes a call back; of one that was sent only the wait ends.
func (c *Client) CancelCall(ctx context.Context, id string) (st CallStatus, err error) {
	err = c.Do(ctx, http.MethodDelete, callPath(id), nil, nil, &st)
	return st, err
}
