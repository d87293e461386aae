package fleet

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// MintRequest asks for a one-time enrolment token.
type MintRequest struct {
	Machine string
	// Rekey lets an enrolled machine take a new key; Grace is how long the old
	// one stays good (nil is seven days, 0 refuses it at once).
	Rekey bool
	Grace *time.Duration
	// TTL is how long the token is good (24 h, at most 30 d).
	TTL time.Duration
	// Legacy makes a bearer for endpoints without keys instead.
	Legacy bool
}

// Minted is a token, shown once.
type Minted = rest.EnrolToken

// EnrolRequest binds a key to an id with a one-time token.
type EnrolRequest struct {
	Machine, Token, PublicKey, Address string
}

// InstallLines is an installer link: one line per family of systems.
type InstallLines = rest.InstallLines

// Lives of enrolment tokens.
const (
	enrolLife    = 24 * time.Hour
	enrolLifeMax = 30 * 24 * time.Hour
	// enrolRepeat is how long a used token answers its own key again: the answer
	// may have been lost on the way.
	enrolRepeat = 24 * time.Hour
	legacyLife  = 90 * 24 * time.Hour
)

// Refusals of enrolment; a face maps each to its status once.
var (
	// ErrEnrolInvalid: a bad id or key; the token stays good (400).
	ErrEnrolInvalid = errors.New("not a usable machine id or key")
	// ErrEnrolToken: the token is not valid for this machine, for whatever
	// reason (401).
	ErrEnrolToken = errors.New("the enrolment token is not valid for this machine")
	// ErrEnrolConflict: the token was used with another key, or the machine holds
	// another key (409).
	ErrEnrolConflict = errors.New("this machine holds another key; ask for a re-key token")
)

// Mint makes a one-time enrolment token, and the machine if need be. A new token
// voids an unused earlier one.
func (f *Fleet) Mint(ctx context.Context, who identity.Actor, req MintRequest) (Minted, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return Minted{}, err
	}
	if err := kenny.CheckID(req.Machine); err != nil {
		return Minted{}, fault.Errorf(fault.BadArgs, "%w", err)
	}
	if m := f.find(req.Machine); !who.Scopes.AllowsMachine(req.Machine, tagsOf(m)) {
		return Minted{}, fault.Errorf(fault.Forbidden, "this token does not reach the machine %q", fault.Quotable(req.Machine))
	}
	if req.TTL < 0 || req.TTL > enrolLifeMax {
		return Minted{}, fault.Errorf(fault.BadArgs, "a token lives at most 30 days")
	}
	var minted Minted
	err := f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		minted, err = f.mint(tx, who, req)
		return err
	})
	if err != nil {
		return Minted{}, err
	}
	_, err = f.refresh(ctx, req.Machine)
	return minted, err
}

func tagsOf(m *machine) []string {
	if m == nil {
		return nil
	}
	return m.tags()
}

// mint makes the token in a transaction of the caller's.
func (f *Fleet) mint(tx *store.Tx, who identity.Actor, req MintRequest) (Minted, error) {
	if err := f.ensure(tx, who, req.Machine); err != nil {
		return Minted{}, err
	}
	secret, hash, err := newSecret()
	if err != nil {
		return Minted{}, err
	}
	now := time.Now()
	minted := Minted{Machine: req.Machine, Token: secret, ServerPublicKey: f.PublicKey(), URL: f.d.URL(), Expires: now.Add(enrolLife).UTC()}
	if req.TTL > 0 {
		minted.Expires = now.Add(req.TTL).UTC()
	}
	action := audit.FleetTokenMinted
	if req.Legacy {
		action = audit.FleetLegacyMinted
		err = f.mintLegacy(tx, req, hash, &minted, now)
	} else {
		err = f.mintEnrol(tx, req, hash, minted.Expires, now)
	}
	if err != nil {
		return Minted{}, err
	}
	return minted, f.d.Audit.AppendTx(tx, audit.Entry{
		Actor: who.String(), Action: action, Target: req.Machine, Detail: map[string]any{"rekey": req.Rekey, "expires_at": minted.Expires.Format(time.RFC3339)},
	})
}

func (f *Fleet) mintEnrol(tx *store.Tx, req MintRequest, hash string, expires, now time.Time) error {
	held, err := heldKeys(tx, req.Machine)
	if err != nil {
		return err
	}
	if len(held) > 0 && !req.Rekey {
		return fault.Errorf(fault.Conflict, "the machine %q is enrolled; a new key needs a re-key token (--rekey)", req.Machine)
	}
	grace := f.d.Limits.KeyGrace
	if req.Grace != nil {
		grace = max(*req.Grace, 0)
	}
	if _, err := tx.Exec(`UPDATE fleet_enrol SET voided_at = ? WHERE machine = ? AND used_at = 0 AND voided_at = 0`, store.Micros(now), req.Machine); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO fleet_enrol (hash, machine, rekey, grace, created_at, expires_at, voided_at, used_at, used_key) VALUES (?, ?, ?, ?, ?, ?, 0, 0, '')`,
		hash, req.Machine, store.Bool(req.Rekey), grace.Microseconds(), store.Micros(now), store.Micros(expires))
	return err
}

// heldKeys lists the keys of a machine that are not revoked.
func heldKeys(tx *store.Tx, machine string) (keys []string, err error) {
	err = tx.Each(store.Into(&keys), `SELECT public_key FROM fleet_keys WHERE machine = ? AND revoked_at = 0 ORDER BY since DESC`, machine)
	return keys, err
}

// Enrol binds a key to a machine: the key is on record and the token used up in
// one transaction.
func (f *Fleet) Enrol(ctx context.Context, req EnrolRequest) error {
	if kenny.CheckID(req.Machine) != nil {
		return ErrEnrolInvalid
	}
	key, err := kenny.ParsePublicKey(req.PublicKey)
	if err != nil {
		// The token is looked at all the same: without a good one nobody learns
		// what is wrong with a key.
		if !f.tokenFits(ctx, req) {
			return ErrEnrolToken
		}
		return errors.Join(ErrEnrolInvalid, err)
	}
	bound := false
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		bound = false
		t, err := findEnrol(tx, tx.ForUpdate(), req)
		if err != nil {
			return err
		}
		if key.Equal(publicOf(f.d.Key)) {
			return errors.Join(ErrEnrolInvalid, errors.New("that is the hub's own key"))
		}
		bound, err = f.bind(tx, t, kenny.FormatPublicKey(key), req.Address)
		return err
	})
	if err != nil {
		f.enrolRefused(req, err)
		return err
	}
	if !bound {
		return nil
	}
	f.events.Hub(req.Machine, kenny.LevelInfo, "enrol", "the machine enrolled a key", map[string]any{"address": req.Address})
	_, err = f.refresh(ctx, req.Machine)
	return err
}

func (f *Fleet) enrolRefused(req EnrolRequest, err error) {
	known := ""
	if f.find(req.Machine) != nil {
		known = req.Machine
	}
	reason := "failed"
	for _, e := range []error{ErrEnrolInvalid, ErrEnrolToken, ErrEnrolConflict} {
		if errors.Is(err, e) {
			reason = e.Error()
		}
	}
	f.events.Hub(known, kenny.LevelWarn, "enrol", "enrolment refused: "+reason, map[string]any{"address": req.Address, "claimed": fault.Quotable(req.Machine)})
}

// enrolToken is a row of fleet_enrol.
type enrolToken struct {
	hash, machine, usedKey string
	rekey                  bool
	grace                  time.Duration
	used                   time.Time
}

// findEnrol finds a token that is valid for the machine; every other case is the
// same refusal.
func findEnrol(tx *store.Tx, lock string, req EnrolRequest) (enrolToken, error) {
	t := enrolToken{hash: hashOf(req.Token)}
	var rekey, grace, expires, voided, used int64
	err := tx.QueryRow(`SELECT machine, rekey, grace, expires_at, voided_at, used_at, used_key FROM fleet_enrol WHERE hash = ?`+lock, t.hash).
		Scan(&t.machine, &rekey, &grace, &expires, &voided, &used, &t.usedKey)
	if errors.Is(err, sql.ErrNoRows) {
		return t, ErrEnrolToken
	}
	if err != nil {
		return t, err
	}
	now := time.Now()
	t.rekey, t.grace, t.used = rekey != 0, time.Duration(grace)*time.Microsecond, store.Time(used)
	fits := subtle.ConstantTimeCompare([]byte(t.machine), []byte(req.Machine)) == 1
	alive := used != 0 && now.Sub(t.used) < enrolRepeat || used == 0 && voided == 0 && now.Before(store.Time(expires))
	if !fits || !alive {
		return t, ErrEnrolToken
	}
	return t, nil
}

func (f *Fleet) tokenFits(ctx context.Context, req EnrolRequest) bool {
	return f.d.DB.Read(ctx, func(tx *store.Tx) error {
		_, err := findEnrol(tx, "", req)
		return err
	}) == nil
}

// bind gives the key to the machine; false when it had it already.
func (f *Fleet) bind(tx *store.Tx, t enrolToken, key, address string) (bool, error) {
	if !t.used.IsZero() {
		if t.usedKey == key {
			return false, nil
		}
		return false, ErrEnrolConflict
	}
	var others int
	if err := tx.QueryRow(`SELECT count(*) FROM fleet_keys WHERE public_key = ? AND machine <> ?`, key, t.machine).Scan(&others); err != nil {
		return false, err
	}
	if others > 0 {
		return false, errors.Join(ErrEnrolInvalid, errors.New("another machine has this key"))
	}
	held, err := heldKeys(tx, t.machine)
	if err != nil {
		return false, err
	}
	if len(held) > 0 && !t.rekey && (len(held) != 1 || held[0] != key) {
		return false, ErrEnrolConflict
	}
	return true, f.bindKey(tx, t, key, address)
}

func (f *Fleet) bindKey(tx *store.Tx, t enrolToken, key, address string) error {
	now := time.Now()
	stamp := store.Micros(now)
	retire := `UPDATE fleet_keys SET until = ? WHERE machine = ? AND public_key <> ? AND revoked_at = 0 AND (until = 0 OR until > ?)`
	until := store.Micros(now.Add(t.grace))
	if t.grace == 0 {
		retire, until = `UPDATE fleet_keys SET revoked_at = ? WHERE machine = ? AND public_key <> ? AND revoked_at = 0 AND ? > 0`, stamp
	}
	if _, err := tx.Exec(retire, until, t.machine, key, until); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO fleet_keys (machine, public_key, since, until, proved_at, revoked_at) VALUES (?, ?, ?, 0, 0, 0)
		ON CONFLICT (machine, public_key) DO UPDATE SET since = excluded.since, until = 0, revoked_at = 0`, t.machine, key, stamp)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE fleet_enrol SET used_at = ?, used_key = ? WHERE hash = ?`, stamp, key, t.hash); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE fleet_machines SET changed_at = ? WHERE id = ?`, stamp, t.machine); err != nil {
		return err
	}
	action := audit.FleetEnrolled
	if t.rekey {
		action = audit.FleetRekey
	}
	return f.d.Audit.AppendTx(tx, audit.Entry{
		Actor: "machine:" + t.machine, Action: action, Target: t.machine, Digest: audit.DigestText(key),
		Detail: map[string]any{"address": address, "grace_s": int64(t.grace.Seconds())},
	})
}
