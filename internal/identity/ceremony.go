package identity

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// passkeyUser is a person as the library wants to see them. The handle is the
// person's id, which says nothing about them.
type passkeyUser struct {
	principal   Principal
	credentials []webauthn.Credential
}

func (u passkeyUser) WebAuthnID() []byte                         { return []byte(u.principal.ID) }
func (u passkeyUser) WebAuthnName() string                       { return u.principal.Name }
func (u passkeyUser) WebAuthnDisplayName() string                { return u.principal.Name }
func (u passkeyUser) WebAuthnCredentials() []webauthn.Credential { return u.credentials }

func (p *Passkeys) user(ctx context.Context, who Principal) (passkeyUser, error) {
	keys, err := p.of(ctx, who.ID)
	u := passkeyUser{principal: who}
	for _, k := range keys {
		u.credentials = append(u.credentials, k.credential)
	}
	return u, err
}

// begin keeps the first half of a ceremony for whoever gets the second, and
// forgets ceremonies nobody finished.
func (p *Passkeys) begin(ctx context.Context, kind, person string, options any, session *webauthn.SessionData) (Ceremony, error) {
	shown, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, err
	}
	data, err := json.Marshal(session)
	if err != nil {
		return Ceremony{}, err
	}
	now := time.Now()
	c := Ceremony{ID: ids.New(), Options: shown}
	err = p.dir.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM passkey_ceremonies WHERE expires_at < ?`, store.Micros(now)); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO passkey_ceremonies (id, kind, person, data, expires_at) VALUES (?, ?, ?, ?, ?)`,
			c.ID, kind, person, string(data), store.Micros(now.Add(ceremonyLife)))
		return err
	})
	return c, err
}

// spendCeremony uses a ceremony up, whatever becomes of it: a challenge is answered once.
func (p *Passkeys) spendCeremony(ctx context.Context, id, kind, person string) (webauthn.SessionData, error) {
	var data string
	var expires int64
	err := p.dir.db.Write(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`DELETE FROM passkey_ceremonies WHERE id = ? AND kind = ? AND person = ? RETURNING data, expires_at`, id, kind, person).
			Scan(&data, &expires)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return webauthn.SessionData{}, refused(Unknown, "")
	}
	if err != nil {
		return webauthn.SessionData{}, err
	}
	if !time.Now().Before(store.Time(expires)) {
		return webauthn.SessionData{}, refused(Expired, "")
	}
	var session webauthn.SessionData
	return session, json.Unmarshal([]byte(data), &session)
}
