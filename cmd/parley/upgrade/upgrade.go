// Package upgrade is the commands about releases: verify-release and upgrade.
package upgrade

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/cmd/internal/cli"
	"parley.internal/internal/endpoint/update"
	"parley.internal/internal/fit"
	"parley.internal/internal/pause"
	"parley.internal/internal/release"
	"parley.internal/internal/upgrade"
	"parley.internal/internal/visible"
	"parley.internal/protocol/kenny"
)

// trusted are the keys a person names, else those built into this program.
func trusted(named []string) ([]ed25519.PublicKey, error) {
	if len(named) == 0 {
		keys := update.BuiltInKeys()
		if len(keys) == 0 {
			return nil, cli.Usage("this program was built without a release key: name the one you trust with --release-key")
		}
		return keys, nil
	}
	var keys []ed25519.PublicKey
	for _, text := range named {
		key, err := kenny.ParsePublicKey(text)
		if err != nil {
			return nil, cli.Usage("--release-key: %v", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func keyFlag(cmd *cobra.Command, keys *[]string) {
	cmd.Flags().StringArrayVar(keys, "release-key", nil, "public key whose signature counts (default: the one built in)")
}

// NewVerify compares downloaded files with what was signed.
func NewVerify() *cobra.Command {
	var named []string
	cmd := &cobra.Command{
		Use: "verify-release [FOLDER]", Short: "Look whether downloaded files are those that were signed", Args: cobra.MaximumNArgs(1),
		Long: "Checks the signature of SHA256SUMS in a folder (default: here), then every file that it names and\nthat is there. Ends with 1 if one is not what was signed, or if nobody you trust has signed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := trusted(named)
			if err != nil {
				return err
			}
			return verify(cmd.OutOrStdout(), append(args, ".")[0], keys)
		},
	}
	keyFlag(cmd, &named)
	return cmd
}

func verify(out io.Writer, folder string, keys []ed25519.PublicKey) error {
	files, err := release.Verify(folder, keys)
	if err != nil {
		return err
	}
	words := map[release.State]string{release.Same: "as signed", release.Other: "NOT AS SIGNED", release.Missing: "not here"}
	there, bad := 0, 0
	for _, f := range files {
		fmt.Fprintf(out, "%-14s %s\n", words[f.State], f.Name)
		switch f.State {
		case release.Same:
			there++
		case release.Other:
			bad++
		case release.Missing:
		}
	}
	switch {
	case bad > 0:
		return fmt.Errorf("%d of the files are not those that were signed: do not use them", bad)
	case there == 0:
		return errors.New("the checksums are signed, but none of the files they name is here")
	}
	return nil
}

// flags are those of upgrade.
type flags struct {
	from, backup, stop, start string
	keys                      []string
	wait                      time.Duration
	data                      *string
	version                   string
	answers                   Answers
}

// Answers tells whether the hub of a data folder is ready to serve.
type Answers func(ctx context.Context, data string) bool

// New changes the hub's program. data is where the hub's folder is told.
func New(version string, data *string, answers Answers) *cobra.Command {
	f := flags{version: version, data: data, answers: answers}
	cmd := &cobra.Command{
		Use: "upgrade", Short: "Change this hub's program for a newer one, and back if that fails", Args: cobra.NoArgs,
		Long: `Changes the program of the hub on this machine for the one of a release that you
downloaded into a folder. The release's signature is checked, a backup is written, and
the new program must read it, before anything is changed. Then the hub is stopped, the
program changed and the hub started; if it is not ready in time, the old program and the
old database (SQLite) come back.

A hub under systemd is stopped and started as the unit 'parley'; --stop and --start
name other ways. What a package manager installed is upgraded by it.`,
		Example: "  parley upgrade --from ~/Downloads/parley-1.1.0\n  parley upgrade --from . --stop 'rc-service parley stop' --start 'rc-service parley start'",
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.from, "from", "", "folder with the release's files")
	fl.StringVar(&f.backup, "backup", "", "file for the backup (default: beside the data folder)")
	fl.StringVar(&f.stop, "stop", "", "command that stops the hub (default: systemctl stop parley)")
	fl.StringVar(&f.start, "start", "", "command that starts it (default: systemctl start parley)")
	fl.DurationVar(&f.wait, "wait", 2*time.Minute, "how long the new program may take to become ready")
	keyFlag(cmd, &f.keys)
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func (f flags) run(cmd *cobra.Command) error {
	keys, err := trusted(f.keys)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return err
	}
	if err := f.possible(self); err != nil {
		return err
	}
	data, err := filepath.Abs(*f.data)
	if err != nil {
		return err
	}
	if f.backup == "" {
		f.backup = filepath.Join(filepath.Dir(data), "parley-before-upgrade-"+time.Now().UTC().Format("20060102-150405")+".tar.gz")
	}
	out := cmd.OutOrStdout()
	return upgrade.Plan{
		Release: f.from, Keys: keys, Platform: runtime.GOOS + "-" + runtime.GOARCH, Version: f.version, Home: filepath.Dir(self),
		Data: data, BackupFile: f.backup, Hub: service{program: self, data: data, stop: f.stop, start: f.start, wait: f.wait, answers: f.answers},
		Say: func(format string, args ...any) { fmt.Fprintln(out, visible.Text(fmt.Sprintf(format, args...))) },
	}.Run(cmd.Context())
}

// possible says what keeps a program in that place from being changed by itself.
func (f flags) possible(self string) error {
	switch {
	case runtime.GOOS == "windows":
		return errors.New("Windows does not let a running program be moved: stop the hub and unpack the release over it") //nolint:staticcheck // a name
	case strings.HasPrefix(self, "/usr/lib/"), strings.HasPrefix(self, "/usr/bin/"):
		return fmt.Errorf("%s belongs to a package: upgrade it with the package manager", self)
	case filepath.Base(self) != "parley":
		return fmt.Errorf("%s is not in a folder as a release has it: install it with install.sh first", self)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(self), "endpoints")); err != nil {
		return fmt.Errorf("%s has no folder 'endpoints' beside it, as a release has: install it with install.sh first", self)
	}
	if (f.stop == "") != (f.start == "") {
		return cli.Usage("--stop and --start belong together")
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil && f.stop == "" {
		return cli.Usage("this machine is not run by systemd: say how to stop and start the hub with --stop and --start")
	}
	return nil
}

// service is the hub of this machine, driven by its own commands and the service manager.
type service struct {
	program, data, stop, start string
	wait                       time.Duration
	answers                    Answers
}

// call runs a command; what it says is shown only if it fails.
func call(ctx context.Context, words ...string) error {
	said, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput() //nolint:gosec // the operator's own words
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(words[0]), err, fit.OneLine(strings.TrimSpace(string(said))))
	}
	return nil
}

// Backup implements upgrade.Hub.
func (s service) Backup(ctx context.Context, file string) error {
	return call(ctx, s.program, "backup", "--data", s.data, "-o", file)
}

// Try implements upgrade.Hub.
func (s service) Try(ctx context.Context, program, backup string) error {
	return call(ctx, program, "backup", "verify", backup)
}

// Stop implements upgrade.Hub.
func (s service) Stop(ctx context.Context) error { return s.manage(ctx, s.stop, "stop") }

// Start implements upgrade.Hub.
func (s service) Start(ctx context.Context) error { return s.manage(ctx, s.start, "start") }

func (s service) manage(ctx context.Context, own, verb string) error {
	if own == "" {
		return call(ctx, "systemctl", verb, "parley")
	}
	// What starts a hub may leave it running with these files open: nobody waits for their end.
	cmd := exec.CommandContext(ctx, "sh", "-c", own) //nolint:gosec // the operator's own words
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", own, err)
	}
	return nil
}

// readyLook is how often a starting hub is asked.
const readyLook = 500 * time.Millisecond

// Ready implements upgrade.Hub.
func (s service) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	for {
		if s.answers(ctx, s.data) {
			return nil
		}
		if pause.For(ctx, readyLook) != nil {
			return fmt.Errorf("no hub of %s became ready within %s", s.data, s.wait)
		}
	}
}
