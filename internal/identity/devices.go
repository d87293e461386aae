package identity

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/ids"
	"parley.internal/internal/limit"
	"parley.internal/internal/store"
)

// Device is a paired device with the key it is pinned to.
type Device struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Principal Principal         `json:"principal"`
	PublicKey ed25519.PublicKey `json:"public_key"`
	Created   time.Time         `json:"created_at"`
	LastSeen  time.Time         `json:"last_seen_at,omitzero"`
	Revoked   time.Time         `json:"revoked_at,omitzero"`
}

// PairRequest pairs a device. The caller has verified, with Challenge.Verify,
// that the device holds the key.
type PairRequest struct {
	// Secret is a pairing token or its short code.
	Secret    string
	PublicKey ed25519.PublicKey
	Name      string
	Address   string
}

// Paired is a newly paired device and its token, shown once.
type Paired struct {
	Device Device
	Token  Issued
	Actor  Actor
}

// Pair uses up a pairing token: the device's key is pinned, and the device gets
// a token with the pairing token's scopes. Earlier tokens of the same device end.
func (d *Directory) Pair(ctx context.Context, req PairRequest) (Paired, error) {
	if len(req.PublicKey) != ed25519.PublicKeySize {
		return Paired{}, fmt.Errorf("%w: a public key has 32 bytes", ErrInvalid)
	}
	secret, try, err := d.pairingSecret(req)
	if err != nil {
		return Paired{}, err
	}
	defer try.End()
	var out Paired
	var changes []change
	err = d.db.Write(ctx, func(tx *store.Tx) (err error) {
		out, changes, err = d.pair(tx, secret, req)
		return err
	})
	if err != nil {
		if try != nil && ReasonOf(err) == Unknown {
			try.Failed()
		}
		return Paired{}, err
	}
	if try != nil {
		try.Succeeded()
	}
	d.announce(changes...)
	return out, nil
}

// pairingSecret tells a token from a code. Codes can be guessed, so using one is
// an attempt; tokens cannot, and have none.
func (d *Directory) pairingSecret(req PairRequest) (string, *limit.Attempt, error) {
	if TokenForm(req.Secret) {
		return req.Secret, nil, nil
	}
	if !CodeForm(req.Secret) {
		return "", nil, refused(Malformed, "")
	}
	try, err := d.codes.Attempt(req.Address)
	return normalCode(req.Secret), try, err
}

func (d *Directory) pair(tx *store.Tx, secret string, req PairRequest) (Paired, []change, error) {
	if err := lockCredentials(tx); err != nil {
		return Paired{}, nil, err
	}
	now := time.Now()
	pairing, err := spend(tx, secret, now)
	if err != nil {
		return Paired{}, nil, err
	}
	dev := Device{ID: DeviceID(req.PublicKey), Name: clean(req.Name), Principal: pairing.Principal, PublicKey: req.PublicKey, Created: now, LastSeen: now}
	limit, err := endOf(tx, pairing.maker)
	if err != nil {
		return Paired{}, nil, err
	}
	changes, err := revokeTokens(tx, `device = ?`, dev.ID)
	if err != nil {
		return Paired{}, nil, err
	}
	if err := pin(tx, dev); err != nil {
		return Paired{}, nil, err
	}
	t := Token{
		ID: ids.New(), Kind: TokenDevice, Role: pairing.Role, Name: dev.Name, Principal: pairing.Principal, owner: pairing.owner,
		Device: dev.ID, Scopes: pairing.Scopes, Created: now, TTL: DeviceLife, Expires: earlier(now.Add(DeviceLife), limit), maker: pairing.maker,
	}
	issued, err := insertToken(tx, t)
	if err != nil {
		return Paired{}, nil, err
	}
	session := t.credential(sealed{}, limit).current(now)
	session.Address = req.Address
	err = d.record(tx, session, audit.DevicePaired, dev.ID, map[string]any{"pairing_token": pairing.ID, "token": t.ID, "scopes": t.Scopes.Sorted()})
	return Paired{Device: dev, Token: issued, Actor: session}, changes, err
}

// spend uses a pairing token up. The update is the only judge in a race.
func spend(tx *store.Tx, secret string, now time.Time) (Token, error) {
	t, k, err := loadToken(tx, secret)
	if err != nil {
		return Token{}, err
	}
	if t.Kind != TokenPairing {
		return Token{}, fmt.Errorf("%w: not a pairing token", ErrInvalid)
	}
	if err := k.judge(now); err != nil {
		return Token{}, err
	}
	n, err := tx.Exec(`UPDATE tokens SET used_at = ? WHERE id = ? AND used_at = 0 AND revoked_at = 0`, store.Micros(now), t.ID)
	if err == nil && n == 0 {
		err = refused(Used, t.ID)
	}
	return t, err
}

// pin writes the device, or takes it back into use for the same person.
func pin(tx *store.Tx, dev Device) error {
	n, err := tx.Exec(`INSERT INTO devices (id, person, name, public_key, created_at, last_seen_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, last_seen_at = excluded.last_seen_at, revoked_at = 0
		WHERE devices.person = excluded.person`,
		dev.ID, dev.Principal.ID, dev.Name, []byte(dev.PublicKey), store.Micros(dev.Created), store.Micros(dev.LastSeen))
	if err == nil && n == 0 {
		err = ErrDeviceTaken
	}
	return err
}

const selectDevice = `SELECT d.id, d.name, d.public_key, d.created_at, d.last_seen_at, d.revoked_at, p.id, p.name
	FROM devices d JOIN people p ON p.id = d.person`

func scanDevice(row store.Row) (Device, error) {
	var dev Device
	var created, seen, revoked int64
	err := row.Scan(&dev.ID, &dev.Name, (*[]byte)(&dev.PublicKey), &created, &seen, &revoked, &dev.Principal.ID, &dev.Principal.Name)
	dev.Principal.Kind = KindPerson
	dev.Created, dev.LastSeen, dev.Revoked = store.Time(created), store.Time(seen), store.Time(revoked)
	return dev, notFound(err)
}

// Device finds a paired device by its id, for verifying its signature.
func (d *Directory) Device(ctx context.Context, id string) (Device, error) {
	var dev Device
	err := d.db.Read(ctx, func(tx *store.Tx) (err error) {
		dev, err = scanDevice(tx.QueryRow(selectDevice+` WHERE d.id = ?`, id))
		return err
	})
	return dev, err
}

// Devices lists the caller's devices in use, or everybody's for an admin.
func (d *Directory) Devices(ctx context.Context, by Actor) ([]Device, error) {
	devices := []Device{}
	query, args := selectDevice+` WHERE d.revoked_at = 0`, []any{}
	if !by.Admin() {
		query, args = query+` AND d.person = ?`, append(args, by.Person.ID)
	}
	err := d.db.Read(ctx, func(tx *store.Tx) error {
		devices = devices[:0]
		return tx.Each(store.IntoBy(&devices, scanDevice), query+` ORDER BY d.created_at, d.id`, args...)
	})
	return devices, err
}

// scopesOfDevice is everything the device's tokens can do.
func scopesOfDevice(tx *store.Tx, id string) (Scopes, error) {
	names := []string{}
	err := tx.Each(func(row *sql.Rows) error {
		var scopes string
		err := row.Scan(&scopes)
		names = append(names, parseScopes(scopes).Sorted()...)
		return err
	}, `SELECT scopes FROM tokens WHERE device = ? AND revoked_at = 0`, id)
	return Expand(names...), err
}

// RevokeDevice takes back all tokens of a device; needs device:manage and every
// scope they have, or admin.
func (d *Directory) RevokeDevice(ctx context.Context, by Actor, id string) error {
	if !by.Scopes.Has(DeviceManage) {
		return ErrForbidden
	}
	var changes []change
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		dev, err := scanDevice(tx.QueryRow(selectDevice+` WHERE d.id = ?`, id))
		if err != nil {
			return err
		}
		scopes, err := scopesOfDevice(tx, id)
		if err != nil {
			return err
		}
		if err := by.mayEnd(dev.Principal.ID, scopes); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE devices SET revoked_at = ? WHERE id = ? AND revoked_at = 0`, store.Micros(time.Now()), id); err != nil {
			return err
		}
		if changes, err = revokeTokens(tx, `device = ?`, id); err != nil {
			return err
		}
		return d.record(tx, by, audit.DeviceRevoked, id, map[string]any{"tokens": len(changes)})
	})
	if err == nil {
		d.announce(changes...)
	}
	return err
}
