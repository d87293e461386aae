package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// errNever marks failures that trying again does not mend.
var errNever = errors.New("not tried again")

// sendTime bounds one attempt.
const sendTime = 15 * time.Second

// Targets are stored by a name that tells the kind: "push " and a browser's
// endpoint, or "webhook " and "ntfy " with an address from the settings.
const (
	pushKind    = "push "
	webhookKind = "webhook "
	ntfyKind    = "ntfy "
)

func (t Target) name() string {
	if t.Webhook != "" {
		return webhookKind + t.Webhook
	}
	return ntfyKind + t.Ntfy
}

// label names a target in a log: the host only, as addresses may hold secrets.
func label(target string) string {
	kind, address, _ := strings.Cut(target, " ")
	u, err := url.Parse(address)
	if err != nil {
		return kind
	}
	return kind + " " + u.Host
}

// targets is where a person's notices go.
func (n *Notices) targets(ctx context.Context, person string) ([]string, error) {
	names, err := n.browsers(ctx, person)
	if err != nil {
		return nil, err
	}
	for i := range names {
		names[i] = pushKind + names[i]
	}
	for _, t := range n.deps.Targets {
		if t.Person == "" || t.Person == person {
			names = append(names, t.name())
		}
	}
	return names, nil
}

func (n *Notices) send(ctx context.Context, j job) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if endpoint, ok := strings.CutPrefix(j.target, pushKind); ok {
		return n.sendPush(ctx, endpoint, j.note)
	}
	for _, t := range n.deps.Targets {
		switch {
		case t.name() != j.target:
		case t.Webhook != "":
			return n.sendWebhook(ctx, t, j.note)
		default:
			return n.sendNtfy(ctx, t, j.note)
		}
	}
	return fmt.Errorf("the settings do not name it any more: %w", errNever)
}

// webhookBody is what a webhook is told.
type webhookBody struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Person  string    `json:"person,omitempty"`
	Title   string    `json:"title"`
	Text    string    `json:"text,omitempty"`
	URL     string    `json:"url"`
	Urgent  bool      `json:"urgent"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at"`
}

func (n *Notices) sendWebhook(ctx context.Context, t Target, note Notice) error {
	body, err := json.Marshal(webhookBody{
		ID: note.ID, Kind: note.Kind, Person: note.Person, Title: note.Title, Text: note.Text, URL: n.link(note), Urgent: note.Urgent,
		Created: note.Created.UTC(), Expires: note.Expires.UTC(),
	})
	if err != nil {
		return err
	}
	header := http.Header{}
	if t.Secret != "" {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		header.Set("Parley-Timestamp", at)
		header.Set("Parley-Signature", "sha256="+Sign(t.Secret, at, body))
	}
	return n.post(ctx, t.Webhook, header, body)
}

// Sign is a webhook's signature: the receiver computes it over the timestamp
// header, a dot and the body, with the secret both know.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

type ntfyAction struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url"`
}

type ntfyBody struct {
	Topic    string       `json:"topic"`
	Title    string       `json:"title"`
	Message  string       `json:"message"`
	Priority int          `json:"priority"`
	Tags     []string     `json:"tags,omitempty"`
	Click    string       `json:"click"`
	Actions  []ntfyAction `json:"actions"`
}

// sendNtfy publishes as JSON, because headers carry ASCII only. The topic is the
// last piece of the address.
func (n *Notices) sendNtfy(ctx context.Context, t Target, note Notice) error {
	u, err := url.Parse(t.Ntfy)
	if err != nil {
		return fmt.Errorf("%w: %w", errNever, err)
	}
	body := ntfyBody{Topic: path.Base(u.Path), Title: note.Title, Message: note.Text, Priority: 3, Tags: []string{note.Kind}, Click: n.link(note)}
	if note.Text == "" {
		body.Message = note.Title
	}
	if note.Urgent {
		body.Priority = 4
	}
	body.Actions = []ntfyAction{{Action: "view", Label: "Open", URL: body.Click}}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	u.Path = strings.TrimSuffix(path.Dir(u.Path), "/") + "/"
	header := http.Header{}
	if t.Secret != "" {
		header.Set("Authorization", "Bearer "+t.Secret)
	}
	return n.post(ctx, u.String(), header, data)
}

func (n *Notices) link(note Notice) string { return strings.TrimSuffix(n.deps.URL(), "/") + note.Path }

func (n *Notices) post(ctx context.Context, address string, header http.Header, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errNever, err)
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "parley")
	resp, err := n.deps.Client.Do(req)
	if err != nil {
		return bare(err)
	}
	return outcome(resp)
}

// bare drops the address from an error: it may hold a secret.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// outcome reads an answer: what the target will never take is not tried again.
func outcome(resp *http.Response) error {
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return fmt.Errorf("it answered %d", code)
	default:
		return fmt.Errorf("it answered %d: %w", code, errNever)
	}
}
