package notify

import (
	"context"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// What Subscribe can answer besides failures of the store.
var (
	// ErrSubscription says that a subscription is not one a browser makes.
	ErrSubscription = errors.New("not a push subscription")
	// ErrNoPage says that only a logged-in page can be told.
	ErrNoPage = errors.New("push messages go to browsers: log the page in first")
)

// maxBrowsers bounds the subscriptions of one person; the oldest makes room.
const maxBrowsers = 20

// Subscription is where a browser's push service takes messages, and the keys
// only that browser can open them with.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	P256dh   string `json:"p256dh"`
	Auth     string `json:"auth"`
}

func (s Subscription) check() error {
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || len(s.Endpoint) > 2000 {
		return fmt.Errorf("%w: the endpoint must be an https address", ErrSubscription)
	}
	public, err := base64.RawURLEncoding.DecodeString(s.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(public)
	}
	if err != nil {
		return fmt.Errorf("%w: p256dh is no key", ErrSubscription)
	}
	if secret, err := base64.RawURLEncoding.DecodeString(s.Auth); err != nil || len(secret) != 16 {
		return fmt.Errorf("%w: auth must be 16 bytes", ErrSubscription)
	}
	return nil
}

// pushKey is the hub's name towards push services (VAPID).
type pushKey struct{ private, public string }

// newPushKey derives the key, so that it is the same after a restart and on
// every hub of a cluster.
func newPushKey(seed []byte) (*pushKey, error) {
	for round := range 8 {
		raw, err := hkdf.Key(sha256.New, seed, nil, fmt.Sprintf("parley web push %d", round), 32)
		if err != nil {
			return nil, err
		}
		key, err := ecdh.P256().NewPrivateKey(raw)
		if err != nil {
			continue // not a number of the curve: one in four billion
		}
		code := base64.RawURLEncoding.EncodeToString
		return &pushKey{private: code(key.Bytes()), public: code(key.PublicKey().Bytes())}, nil
	}
	return nil, errors.New("no push key can be derived")
}

// PublicKey is what a browser subscribes with (applicationServerKey).
func (n *Notices) PublicKey() string { return n.push.public }

// Subscribe lets a logged-in page's browser be told. It ends with the login.
func (n *Notices) Subscribe(ctx context.Context, who identity.Actor, s Subscription) error {
	if who.PageID == "" {
		return ErrNoPage
	}
	if err := s.check(); err != nil {
		return err
	}
	return n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO push_subscriptions (endpoint, person, page, p256dh, auth, created_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (endpoint) DO UPDATE SET person = excluded.person, page = excluded.page, p256dh = excluded.p256dh,
				auth = excluded.auth, created_at = excluded.created_at`,
			s.Endpoint, who.Person.ID, who.PageID, s.P256dh, s.Auth, store.Micros(time.Now()))
		if err != nil {
			return err
		}
		_, err = tx.Exec(`DELETE FROM push_subscriptions WHERE person = ? AND endpoint NOT IN (
			SELECT endpoint FROM push_subscriptions WHERE person = ? ORDER BY created_at DESC LIMIT ?)`,
			who.Person.ID, who.Person.ID, maxBrowsers)
		return err
	})
}

// Unsubscribe ends a subscription of the caller's own; of another's, or of none,
// it does nothing.
func (n *Notices) Unsubscribe(ctx context.Context, who identity.Actor, endpoint string) error {
	return n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM push_subscriptions WHERE endpoint = ? AND person = ?`, endpoint, who.Person.ID)
		return err
	})
}

// browsers lists the endpoints of a person.
func (n *Notices) browsers(ctx context.Context, person string) (list []string, err error) {
	err = n.deps.DB.Read(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(`SELECT endpoint FROM push_subscriptions WHERE person = ? ORDER BY created_at`, person)
		if err != nil {
			return err
		}
		defer rows.Close()
		list = nil
		for rows.Next() {
			var endpoint string
			if err := rows.Scan(&endpoint); err != nil {
				return err
			}
			list = append(list, endpoint)
		}
		return rows.Err()
	})
	return list, err
}

// pushBody is what the page's service worker is told.
type pushBody struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Title    string `json:"title"`
	Text     string `json:"text,omitempty"`
	Path     string `json:"path"`
	Approval string `json:"approval,omitempty"`
}

func (n *Notices) sendPush(ctx context.Context, endpoint string, note Notice) error {
	s, page, err := n.subscription(ctx, endpoint)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("the browser does not want it any more: %w", errNever)
	}
	if err != nil {
		return err
	}
	stands, err := n.deps.PageStands(ctx, page)
	if err != nil {
		return err
	}
	if !stands {
		return errors.Join(errNever, n.forget(ctx, endpoint))
	}
	text := note.Text
	if note.Sealed != "" {
		text = note.Sealed
	}
	body, err := json.Marshal(pushBody{ID: note.ID, Kind: note.Kind, Title: note.Title, Text: text, Path: note.Path, Approval: note.Approval})
	if err != nil {
		return err
	}
	urgency := webpush.UrgencyNormal
	if note.Urgent {
		urgency = webpush.UrgencyHigh
	}
	resp, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{
		Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Auth, P256dh: s.P256dh},
	}, &webpush.Options{
		HTTPClient: n.deps.Push, Subscriber: n.contact(), TTL: max(60, int(time.Until(note.Expires)/time.Second)), Urgency: urgency,
		VAPIDPublicKey: n.push.public, VAPIDPrivateKey: n.push.private,
	})
	if err != nil {
		return bare(err)
	}
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
		_ = resp.Body.Close()
		return errors.Join(errNever, n.forget(ctx, endpoint))
	}
	return outcome(resp)
}

// contact is whom a push service may write to about us: an https address of the
// hub, or, as it insists on something, a mailbox that goes nowhere.
func (n *Notices) contact() string {
	if u := n.deps.URL(); strings.HasPrefix(u, "https://") {
		return u
	}
	return "parley@localhost"
}

func (n *Notices) subscription(ctx context.Context, endpoint string) (s Subscription, page string, err error) {
	s.Endpoint = endpoint
	err = n.deps.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT page, p256dh, auth FROM push_subscriptions WHERE endpoint = ?`, endpoint).Scan(&page, &s.P256dh, &s.Auth)
	})
	return s, page, err
}

// forget drops a browser that is gone or logged out.
func (n *Notices) forget(ctx context.Context, endpoint string) error {
	return n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM push_subscriptions WHERE endpoint = ?`, endpoint)
		return err
	})
}
