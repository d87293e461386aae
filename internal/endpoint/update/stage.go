package update

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/endpoint/command"
	wire "parley.internal/protocol/kenny"
)

// Options are what an updater knows.
type Options struct {
	// Folder is the endpoint's state folder; Program the installed program.
	Folder, Program string
	// Version is what runs now.
	Version string
	// Keys sign releases, beside those built in.
	Keys []ed25519.PublicKey
	Log  *slog.Logger
	// Check judges an address, that of every redirect included.
	Check func(address string) error
	// Swap starts the replacement, detached, and returns.
	Swap func(Plan) error
	// Download fetches an address, at most limit bytes of it; nil is HTTPS.
	Download func(ctx context.Context, address string, limit int64, w io.Writer) error
}

// Updater stages updates, one at a time.
type Updater struct {
	opts Options
	busy sync.Mutex
}

// New makes an updater.
func New(opts Options) *Updater {
	opts.Keys = append(BuiltInKeys(), opts.Keys...)
	if opts.Download == nil {
		opts.Download = downloader(opts.Check)
	}
	return &Updater{opts: opts}
}

const (
	// maxProgram bounds a download.
	maxProgram = 256 << 20
	// maxSignature is generous for base64 of 64 bytes.
	maxSignature = 1 << 10
	// tryWait bounds asking the new program for its version.
	tryWait = 20 * time.Second
)

// Platform names what this program runs on.
func Platform() string { return runtime.GOOS + "-" + runtime.GOARCH }

// Stage downloads and checks a program and has it swapped in. When it returns
// nil, the swap is under way; the caller has a moment to say so.
func (u *Updater) Stage(ctx context.Context, version, address, sha256 string) error {
	if len(u.opts.Keys) == 0 {
		return &wire.Error{Code: wire.CodeUnsupported, Message: "this endpoint knows no release key, so it cannot tell a good update from a bad one; reinstall it with --release-key"}
	}
	if err := u.opts.Check(address); err != nil {
		return err
	}
	if wire.CompareVersions(version, u.opts.Version) <= 0 {
		return &wire.Error{Code: wire.CodeBlocked, Message: fmt.Sprintf("refused by the safety guard: version %s is not newer than %s [update.version]", version, u.opts.Version)}
	}
	if !u.busy.TryLock() {
		return &wire.Error{Code: wire.CodeExecFailed, Message: "another update is under way"}
	}
	file, err := u.stage(ctx, version, address, sha256)
	if err != nil {
		u.busy.Unlock()
		return err
	}
	plan := Plan{Folder: u.opts.Folder, Program: u.opts.Program, New: file, Version: version, Previous: u.opts.Version}
	if err := u.opts.Swap(plan); err != nil {
		u.busy.Unlock()
		_ = os.Remove(file)
		return fmt.Errorf("starting the swap: %w", err)
	}
	// Still busy: this process is about to be stopped.
	u.opts.Log.Info("update staged", "version", version, "from", u.opts.Version)
	return nil
}

// stage leaves a verified program in the staging folder, or nothing.
func (u *Updater) stage(ctx context.Context, version, address, sha256 string) (path string, err error) {
	dir := filepath.Join(u.opts.Folder, "staging")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "parley-*"+suffix())
	if err != nil {
		return "", err
	}
	name := f.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	sum, err := u.fetch(ctx, address, f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", refused(err)
	}
	if err := u.verify(ctx, version, address, sha256, sum); err != nil {
		return "", err
	}
	if err := checkFormat(name); err != nil {
		return "", failed("the update is not a program for this machine: %v", err)
	}
	if err := os.Chmod(name, 0o755); err != nil { //nolint:gosec // it is a program
		return "", err
	}
	return name, u.try(ctx, name, version)
}

// refused keeps the guard's word when a redirect was refused.
func refused(err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	return failed("download: %v", err)
}

func failed(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeExecFailed, Message: fmt.Sprintf(format, args...)}
}

// verify holds hash and signature to what was asked for.
func (u *Updater) verify(ctx context.Context, version, address, want string, sum [32]byte) error {
	if !strings.EqualFold(hex.EncodeToString(sum[:]), want) {
		return failed("the download does not have the expected SHA-256")
	}
	var text strings.Builder
	if err := u.opts.Download(ctx, address+".sig", maxSignature, &text); err != nil {
		return refused(fmt.Errorf("signature: %w", err))
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text.String()))
	if err != nil {
		return failed("the signature is not base64")
	}
	if wire.Verify(wire.ReleaseMessage(version, Platform(), sum), sig, u.opts.Keys...) != nil {
		return failed("the signature was not made by a release key this endpoint knows")
	}
	return nil
}

// try has the new program tell its version. It is signed by now.
func (u *Updater) try(ctx context.Context, path, version string) error {
	ctx, cancel := context.WithTimeout(ctx, tryWait)
	defer cancel()
	out, err := command.Output(ctx, path, "version")
	if err != nil {
		return failed("the new program does not run: %v", err)
	}
	words := strings.Fields(command.Text(out))
	if len(words) < 2 || words[1] != version {
		return failed("the new program says it is another version than %s", version)
	}
	return nil
}

func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
