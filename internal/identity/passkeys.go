package identity

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
)

// Reasons for which a passkey is refused.
const (
	// BadPasskey did not pass the ceremony.
	BadPasskey Reason = "bad_passkey"
	// ClonedPasskey counts backwards: two devices hold the same key.
	ClonedPasskey Reason = "cloned_passkey"
)

// ceremonyLife is how long a browser may take between the two halves.
const ceremonyLife = 5 * time.Minute

// RelyingParty is this hub as browsers know it.
type RelyingParty struct {
	// ID is the host name passkeys are bound to; Origins are the addresses of
	// the page.
	ID      string
	Name    string
	Origins []string
}

// Passkeys registers and checks passkeys. A ceremony may begin on one hub and
// end on another.
type Passkeys struct {
	dir *Directory
	web *webauthn.WebAuthn
}

// Passkey is a registered one.
type Passkey struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Principal Principal `json:"principal"`
	Scopes    Scopes    `json:"scopes"`
	Created   time.Time `json:"created_at"`
	LastUsed  time.Time `json:"last_used_at,omitzero"`
	// Expires is when what it was made with ends; zero means never.
	Expires time.Time `json:"expires_at,omitzero"`

	owner      bool
	maker      maker
	credential webauthn.Credential
}

// Ceremony is the first half: Options go to the browser's navigator.credentials,
// and ID comes back with its answer.
type Ceremony struct {
	ID      string          `json:"ceremony"`
	Options json.RawMessage `json:"options"`
}

// NewPasskeys binds passkeys to the hub's name.
func NewPasskeys(dir *Directory, rp RelyingParty) (*Passkeys, error) {
	p := &Passkeys{dir: dir}
	return p, p.Bind(rp)
}

// Bind binds them to another name. It is for a hub that learns its address only when
// it listens, and must not be called once somebody is served.
func (p *Passkeys) Bind(rp RelyingParty) error {
	web, err := webauthn.New(&webauthn.Config{RPID: rp.ID, RPDisplayName: rp.Name, RPOrigins: rp.Origins})
	if err != nil {
		return fmt.Errorf("%w: passkeys: %w", ErrInvalid, err)
	}
	p.web = web
	return nil
}

// BeginRegister starts adding a passkey for the caller; it needs device:manage.
func (p *Passkeys) BeginRegister(ctx context.Context, by Actor) (Ceremony, error) {
	if !by.Scopes.Has(DeviceManage) || by.Person.Kind != KindPerson {
		return Ceremony{}, ErrForbidden
	}
	user, err := p.user(ctx, by.Person)
	if err != nil {
		return Ceremony{}, err
	}
	required := true
	options, session, err := p.web.BeginRegistration(user,
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: &required, UserVerification: protocol.VerificationRequired,
		}), webauthn.WithExclusions(webauthn.Credentials(user.credentials).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, err
	}
	return p.begin(ctx, "register", by.Person.ID, options, session)
}

// FinishRegister keeps the passkey. It gives what the caller may do, no more, and
// ends with the token or passkey that logged the caller in.
func (p *Passkeys) FinishRegister(ctx context.Context, by Actor, ceremony, name string, response []byte) (Passkey, error) {
	if !by.Scopes.Has(DeviceManage) {
		return Passkey{}, ErrForbidden
	}
	session, err := p.spendCeremony(ctx, ceremony, "register", by.Person.ID)
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Passkey{}, refused(BadPasskey, "")
	}
	user, err := p.user(ctx, by.Person)
	if err != nil {
		return Passkey{}, err
	}
	credential, err := p.web.CreateCredential(user, session, parsed)
	if err != nil {
		return Passkey{}, refused(BadPasskey, "")
	}
	key := Passkey{
		ID: passkeyID(credential.ID), Name: fit.Clip(clean(name), 200), Principal: by.Person, Scopes: by.Scopes,
		Created: time.Now(), owner: by.Owner, credential: *credential,
	}
	data, err := json.Marshal(credential)
	if err != nil {
		return Passkey{}, err
	}
	err = p.dir.db.Write(ctx, func(tx *store.Tx) error {
		a, err := authorOf(tx, by)
		if err != nil {
			return err
		}
		key.maker, key.Expires = a.maker, a.end
		_, err = tx.Exec(`INSERT INTO passkeys (id, person, name, credential, scopes, created_at, expires_at, maker) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			key.ID, key.Principal.ID, key.Name, string(data), key.Scopes.String(), store.Micros(key.Created), store.Micros(key.Expires), string(key.maker))
		if err != nil {
			return err
		}
		return p.dir.record(tx, by, audit.PasskeyAdded, key.ID, nil)
	})
	if store.IsConflict(err) {
		return Passkey{}, fmt.Errorf("%w: the passkey is registered already", ErrInvalid)
	}
	return key, err
}

// BeginLogin starts a login; the browser offers the passkeys it has.
func (p *Passkeys) BeginLogin(ctx context.Context) (Ceremony, error) {
	options, session, err := p.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, err
	}
	return p.begin(ctx, "login", "", options, session)
}

// FinishLogin checks the browser's answer and logs it in.
func (p *Passkeys) FinishLogin(ctx context.Context, ceremony string, response []byte, agent, address string) (Login, error) {
	session, err := p.spendCeremony(ctx, ceremony, "login", "")
	if err != nil {
		return Login{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Login{}, refused(BadPasskey, "")
	}
	key, err := p.find(ctx, passkeyID(parsed.RawID))
	if err != nil {
		return Login{}, err
	}
	if key.credential, err = p.verify(session, parsed, key); err != nil {
		return Login{}, err
	}
	return p.login(ctx, key, agent, address)
}

// verify checks the answer against the stored key.
func (p *Passkeys) verify(session webauthn.SessionData, parsed *protocol.ParsedCredentialAssertionData, key Passkey) (webauthn.Credential, error) {
	owner := func(_, handle []byte) (webauthn.User, error) {
		if string(handle) != key.Principal.ID {
			return nil, ErrNotFound
		}
		return passkeyUser{key.Principal, []webauthn.Credential{key.credential}}, nil
	}
	_, used, err := p.web.ValidatePasskeyLogin(owner, session, parsed)
	if err != nil {
		return webauthn.Credential{}, refused(BadPasskey, "")
	}
	if used.Authenticator.CloneWarning {
		return webauthn.Credential{}, refused(ClonedPasskey, "")
	}
	return *used, nil
}

func (p *Passkeys) login(ctx context.Context, key Passkey, agent, address string) (Login, error) {
	data, err := json.Marshal(key.credential)
	if err != nil {
		return Login{}, err
	}
	var out Login
	err = p.dir.db.Write(ctx, func(tx *store.Tx) error {
		if err := lockCredentials(tx); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE passkeys SET credential = ?, last_used_at = ? WHERE id = ?`, string(data), store.Micros(time.Now()), key.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return refused(Revoked, "")
		}
		by := Actor{Person: key.Principal, Owner: key.owner, Role: RoleOperator, Scopes: key.Scopes, Via: Via{Address: address}}
		out, err = p.dir.insertPage(tx, by, madeWithPasskey(key.ID), agent, "passkey")
		return err
	})
	return out, err
}

// List shows the caller's passkeys.
func (p *Passkeys) List(ctx context.Context, by Actor) ([]Passkey, error) {
	return p.of(ctx, by.Person.ID)
}

// Remove forgets a passkey and ends what was made with it, the pages logged in by
// it included. It needs device:manage and every scope the passkey has, or admin.
func (p *Passkeys) Remove(ctx context.Context, by Actor, id string) error {
	if !by.Scopes.Has(DeviceManage) {
		return ErrForbidden
	}
	key, err := p.find(ctx, id)
	if errors.Is(err, ErrRefused) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	if err := by.mayEnd(key.Principal.ID, key.Scopes); err != nil {
		return err
	}
	var changes []change
	err = p.dir.db.Write(ctx, func(tx *store.Tx) (err error) {
		if changes, err = removePasskeys(tx, `id = ?`, id); err != nil {
			return err
		}
		return p.dir.record(tx, by, audit.PasskeyRemoved, id, map[string]any{"ended": len(changes)})
	})
	if err == nil {
		p.dir.announce(changes...)
	}
	return err
}

func passkeyID(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

const selectPasskey = `SELECT k.id, k.name, k.credential, k.scopes, k.created_at, k.last_used_at, k.expires_at, k.maker, p.id, p.name, p.owner
	FROM passkeys k JOIN people p ON p.id = k.person`

func scanPasskey(row store.Row) (Passkey, error) {
	k := Passkey{Principal: Principal{Kind: KindPerson}}
	var credential, scopes, made string
	var created, used, expires, owner int64
	if err := row.Scan(&k.ID, &k.Name, &credential, &scopes, &created, &used, &expires, &made, &k.Principal.ID, &k.Principal.Name, &owner); err != nil {
		return Passkey{}, err
	}
	k.Scopes, k.Created, k.LastUsed, k.owner = parseScopes(scopes), store.Time(created), store.Time(used), owner == 1
	k.Expires, k.maker = store.Time(expires), maker(made)
	return k, json.Unmarshal([]byte(credential), &k.credential)
}

// find refuses an unknown passkey.
func (p *Passkeys) find(ctx context.Context, id string) (Passkey, error) {
	var k Passkey
	err := p.dir.db.Read(ctx, func(tx *store.Tx) (err error) {
		k, err = scanPasskey(tx.QueryRow(selectPasskey+` WHERE k.id = ?`, id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Passkey{}, refused(Unknown, "")
	}
	return k, err
}

func (p *Passkeys) of(ctx context.Context, person string) ([]Passkey, error) {
	keys := []Passkey{}
	err := p.dir.db.Read(ctx, func(tx *store.Tx) error {
		keys = keys[:0]
		return tx.Each(store.IntoBy(&keys, scanPasskey), selectPasskey+` WHERE k.person = ? ORDER BY k.created_at, k.id`, person)
	})
	return keys, err
}
