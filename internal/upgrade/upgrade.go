package upgrade

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/internal/release"
	"parley.internal/protocol/kenny"
)

// The ways it ends without an upgrade.
var (
	ErrNotNewer   = errors.New("the release is not newer than what runs")
	ErrRolledBack = errors.New("the new program did not become ready; the old one is back")
)

// Plan is an upgrade.
type Plan struct {
	// Release is a folder with a release's files; Keys are whose signature counts.
	Release string
	Keys    []ed25519.PublicKey
	// Platform and Version are of the program that runs, Home is the folder it is in with
	// what came beside it.
	Platform, Version, Home string
	// Data is the hub's folder, BackupFile where the backup goes.
	Data, BackupFile string

	Hub Hub
	// Say tells a person what happens.
	Say func(format string, args ...any)
}

// Hub is how the upgrade deals with what runs.
type Hub interface {
	// Backup writes everything the hub keeps into a file.
	Backup(ctx context.Context, file string) error
	// Try has a program restore the backup into a folder of its own and compare.
	Try(ctx context.Context, program, backup string) error
	Stop(ctx context.Context) error
	Start(ctx context.Context) error
	// Ready waits until the hub serves.
	Ready(ctx context.Context) error
}

// Run does it. Whatever it returns but nil, the program is the old one.
func (p Plan) Run(ctx context.Context) error {
	archive, version, err := p.find()
	if err != nil {
		return err
	}
	if kenny.CompareVersions(version, p.Version) <= 0 {
		return fmt.Errorf("%w: %s, and %s runs", ErrNotNewer, version, p.Version)
	}
	p.Say("%s is signed", archive)
	next := p.Home + ".new"
	if err := p.unpack(archive, next); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(next) }() // gone already when all went well
	if err := p.Hub.Backup(ctx, p.BackupFile); err != nil {
		return fmt.Errorf("the backup before the upgrade: %w; nothing was changed", err)
	}
	p.Say("everything is in %s", p.BackupFile)
	if err := p.Hub.Try(ctx, filepath.Join(next, program), p.BackupFile); err != nil {
		return fmt.Errorf("the new program does not read the backup: %w; nothing was changed", err)
	}
	p.Say("%s reads it", version)
	return p.change(ctx, next, version)
}

// program is the name of the hub's program in a release. On Windows a folder with a running
// program cannot be moved, and the command refuses before it comes here.
const program = "parley"

// find checks the signature and finds the archive of this system.
func (p Plan) find() (archive, version string, err error) {
	files, err := release.Verify(p.Release, p.Keys)
	if err != nil {
		return "", "", err
	}
	for _, f := range files {
		middle, ok := strings.CutSuffix(strings.TrimPrefix(f.Name, "parley-"), "-"+p.Platform+".tar.gz")
		if !ok || !strings.HasPrefix(f.Name, "parley-") {
			continue
		}
		if f.State != release.Same {
			return "", "", fmt.Errorf("%s is not the file that was signed (%s)", f.Name, f.State)
		}
		if archive != "" {
			return "", "", fmt.Errorf("the release has both %s and %s", archive, f.Name)
		}
		archive, version = f.Name, middle
	}
	if archive == "" {
		return "", "", fmt.Errorf("the release has nothing for %s", p.Platform)
	}
	return archive, version, nil
}

func (p Plan) unpack(archive, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := unpack(filepath.Join(p.Release, archive), strings.TrimSuffix(archive, ".tar.gz"), to); err != nil {
		_ = os.RemoveAll(to)
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	return nil
}

// change swaps the programs while the hub is down, and swaps them back when the new one
// does not get up.
func (p Plan) change(ctx context.Context, next, version string) error {
	if err := p.Hub.Stop(ctx); err != nil {
		return fmt.Errorf("stopping the hub: %w; nothing was changed", err)
	}
	aside, err := putAside(p.Data)
	if err != nil {
		return errors.Join(err, p.Hub.Start(ctx))
	}
	old := p.Home + ".old"
	if err := errors.Join(os.RemoveAll(old), os.Rename(p.Home, old)); err != nil {
		return errors.Join(err, p.Hub.Start(ctx))
	}
	if err := os.Rename(next, p.Home); err != nil {
		return errors.Join(err, os.Rename(old, p.Home), p.Hub.Start(ctx))
	}
	// Whoever interrupts the waiting wants the old program back, and that takes time, too.
	if err = p.Hub.Start(ctx); err == nil {
		err = p.Hub.Ready(ctx)
	}
	if err != nil {
		return p.back(context.WithoutCancel(ctx), aside, old, err)
	}
	p.Say("%s is ready", version)
	return errors.Join(os.RemoveAll(old), aside.remove())
}

func (p Plan) back(ctx context.Context, aside aside, old string, cause error) error {
	p.Say("%s; going back", cause)
	_ = p.Hub.Stop(ctx) // it may not run
	failed := p.Home + ".failed"
	err := errors.Join(os.RemoveAll(failed), os.Rename(p.Home, failed), os.Rename(old, p.Home), aside.back(), p.Hub.Start(ctx))
	if err == nil {
		err = p.Hub.Ready(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w (%w); the old one is in place but does not serve: %w. Everything is in %s", ErrRolledBack, cause, err, p.BackupFile)
	}
	return fmt.Errorf("%w: %w", ErrRolledBack, cause)
}
