package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// Kinds and lives of addresses made here.
const (
	linkInstall  = "install"
	linkDownload = "download"
	installLife  = 24 * time.Hour
	// programLife is how long the program is there after the script was fetched.
	programLife = 30 * time.Minute
	// downloadLife is how long an update's address works.
	downloadLife = 10 * time.Minute
)

// ErrNoLink is every address that does not work: unknown, expired, used, of
// another kind. They do not differ.
var ErrNoLink = errors.New("there is nothing here")

// InstallLink makes a one-time address for a machine's installer, and the machine if
// need be, as a token does. It holds no credential: the token is made when it is
// opened. Only lines that this hub has a program for are given.
func (f *Fleet) InstallLink(ctx context.Context, who identity.Actor, id string) (InstallLines, error) {
	programs, err := f.programs.Newest(ctx)
	if err != nil {
		return InstallLines{}, err
	}
	if err := f.linkable(ctx, who, id, programs); err != nil {
		return InstallLines{}, err
	}
	secret, hash, err := newSecret()
	if err != nil {
		return InstallLines{}, err
	}
	now := time.Now()
	expires := now.Add(installLife)
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := insertLink(tx, hash, linkInstall, id, text(who), now, expires); err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.FleetLinkCreated, Target: id, Detail: map[string]any{"expires_at": expires.UTC().Format(time.RFC3339)}})
	})
	if err != nil {
		return InstallLines{}, err
	}
	at := f.d.URL() + "/install/" + secret
	lines := InstallLines{Expires: expires.UTC()}
	if len(programs.For(update.ShellPOSIX)) > 0 {
		lines.Sh = fmt.Sprintf("curl -fsSL '%s' | sudo sh", at)
	}
	if len(programs.For(update.ShellPowerShell)) > 0 {
		lines.PS1 = fmt.Sprintf("irm '%s.ps1' | iex", at)
	}
	return lines, nil
}

// linkable makes sure that there is a machine to install, and something to install.
func (f *Fleet) linkable(ctx context.Context, who identity.Actor, id string, programs update.ProgramList) error {
	if err := may(who, identity.FleetAdmin); err != nil {
		return err
	}
	if len(programs) == 0 {
		return fault.Errorf(fault.Unavailable, "this hub has no endpoint program to hand out")
	}
	if f.find(id) == nil {
		_, err := f.Create(ctx, who, id, "", nil)
		return err
	}
	if _, refusal := f.seen(who, identity.FleetAdmin, id); refusal != nil {
		return refusal
	}
	return nil
}

// PeekInstall reports whether an install link still works for a family of systems.
// It changes nothing: looking at a link does not use it up.
func (f *Fleet) PeekInstall(ctx context.Context, secret string, shell update.Shell) error {
	_, err := f.openable(ctx, secret, shell)
	return err
}

// openable gives the programs behind a link that still works.
func (f *Fleet) openable(ctx context.Context, secret string, shell update.Shell) (update.ProgramList, error) {
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		_, err := findLink(tx, "", secret, linkInstall, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	programs, err := f.programs.Newest(ctx)
	if err != nil {
		return nil, err
	}
	if programs = programs.For(shell); len(programs) == 0 {
		return nil, fault.Errorf(fault.Unavailable, "this hub has no endpoint program for these systems")
	}
	return programs, nil
}

func insertLink(tx *store.Tx, hash, kind, machine, detail string, now, expires time.Time) error {
	_, err := tx.Exec(`INSERT INTO fleet_links (hash, kind, machine, detail, created_at, expires_at, used_at) VALUES (?, ?, ?, ?, ?, ?, 0)`,
		hash, kind, machine, detail, store.Micros(now), store.Micros(expires))
	return err
}

// link is a row of fleet_links.
type link struct {
	machine, detail string
	used            time.Time
}

// findLink finds an address of a kind that still works: one not opened yet, or,
// with usedWithin, one opened no longer ago than that. lock is the row's lock in a
// transaction that writes.
func findLink(tx *store.Tx, lock, secret, kind string, usedWithin time.Duration) (link, error) {
	var l link
	var expires, used int64
	err := tx.QueryRow(`SELECT machine, detail, expires_at, used_at FROM fleet_links WHERE hash = ? AND kind = ?`+lock, hashOf(secret), kind).
		Scan(&l.machine, &l.detail, &expires, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return l, ErrNoLink
	}
	if err != nil {
		return l, err
	}
	now := time.Now()
	l.used = store.Time(used)
	switch {
	case usedWithin > 0 && (used == 0 || now.Sub(l.used) > usedWithin):
		return l, ErrNoLink
	case usedWithin == 0 && (used != 0 || !now.Before(store.Time(expires))):
		return l, ErrNoLink
	}
	return l, nil
}

// OpenInstall gives the script behind an install link, once. The token in it is
// minted here and now.
func (f *Fleet) OpenInstall(ctx context.Context, secret string, shell update.Shell, address string) (string, error) {
	programs, err := f.openable(ctx, secret, shell)
	if err != nil {
		return "", err
	}
	release, err := f.programs.ReleaseFlags(ctx)
	if err != nil {
		return "", err
	}
	var minted Minted
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		l, err := findLink(tx, tx.ForUpdate(), secret, linkInstall, 0)
		if err != nil {
			return err
		}
		if minted, err = f.mintFor(tx, l); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE fleet_links SET used_at = ? WHERE hash = ?`, store.Micros(time.Now()), hashOf(secret)); err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: "address:" + address, Action: audit.FleetLinkOpened, Target: l.machine})
	})
	if err != nil {
		return "", err
	}
	if _, err := f.refresh(ctx, minted.Machine); err != nil {
		return "", err
	}
	return update.Script(shell, update.Ticket(minted), release, f.d.URL()+"/install/"+secret+"/bin/", programs), nil
}

// mintFor makes the token of an install link, in the name of whoever made the link.
func (f *Fleet) mintFor(tx *store.Tx, l link) (Minted, error) {
	by, err := callerOf(l.detail)
	if err != nil {
		return Minted{}, err
	}
	held, err := heldKeys(tx, l.machine)
	if err != nil {
		return Minted{}, err
	}
	return f.mint(tx, by, MintRequest{Machine: l.machine, Rekey: len(held) > 0})
}

// InstallProgram gives the program of a link whose script was fetched a moment ago.
func (f *Fleet) InstallProgram(ctx context.Context, secret, platform string) (update.Content, error) {
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		_, err := findLink(tx, "", secret, linkInstall, programLife)
		return err
	})
	if err != nil {
		return update.Content{}, err
	}
	programs, err := f.programs.Newest(ctx)
	if err != nil {
		return update.Content{}, err
	}
	for _, p := range programs {
		if p.Platform == platform {
			return f.programs.Content(p), nil
		}
	}
	return update.Content{}, ErrNoLink
}

// downloadLink makes a short-lived address for an update.
func (f *Fleet) downloadLink(ctx context.Context, machine string, b update.Binary) (string, error) {
	secret, hash, err := newSecret()
	if err != nil {
		return "", err
	}
	now := time.Now()
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		return insertLink(tx, hash, linkDownload, machine, text(b), now, now.Add(downloadLife))
	})
	return f.d.URL() + "/d/endpoint/" + secret, err
}

// Download gives the binary behind an update's address.
func (f *Fleet) Download(ctx context.Context, secret string) (update.Content, error) {
	p, err := f.downloadable(ctx, secret)
	if err != nil {
		return update.Content{}, err
	}
	return f.programs.Content(p), nil
}

// DownloadSignature gives its detached signature.
func (f *Fleet) DownloadSignature(ctx context.Context, secret string) (string, error) {
	p, err := f.downloadable(ctx, secret)
	return p.Signature, err
}

func (f *Fleet) downloadable(ctx context.Context, secret string) (update.Program, error) {
	var l link
	err := f.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		l, err = findLink(tx, "", secret, linkDownload, 0)
		return err
	})
	if err != nil {
		return update.Program{}, err
	}
	b, err := binaryOf(l.detail)
	if err != nil {
		return update.Program{}, err
	}
	programs, err := f.programs.Signed(ctx)
	if err != nil {
		return update.Program{}, err
	}
	for _, p := range programs {
		if p.Platform == b.Platform && p.Version == b.Version {
			return p, nil
		}
	}
	return update.Program{}, ErrNoLink
}

func binaryOf(detail string) (b update.Binary, err error) {
	err = json.Unmarshal([]byte(detail), &b)
	return b, err
}

func callerOf(detail string) (who identity.Actor, err error) {
	err = json.Unmarshal([]byte(detail), &who)
	return who, err
}

// Installer writes a zip with the program of a platform, a script with a fresh
// token, and a word about both.
func (f *Fleet) Installer(ctx context.Context, who identity.Actor, id, platform string, w io.Writer) error {
	if _, refusal := f.seen(who, identity.FleetAdmin, id); refusal != nil {
		return refusal
	}
	p, err := f.programs.Choose(ctx, platform)
	if err != nil {
		return err
	}
	var minted Minted
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		held, err := heldKeys(tx, id)
		if err != nil {
			return err
		}
		minted, err = f.mint(tx, who, MintRequest{Machine: id, Rekey: len(held) > 0})
		return err
	})
	if err != nil {
		return err
	}
	release, err := f.programs.ReleaseFlags(ctx)
	if err != nil {
		return err
	}
	return f.programs.WriteZip(ctx, p, update.Ticket(minted), release, w)
}
