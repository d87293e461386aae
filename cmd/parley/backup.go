package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/protocol/rest"
)

func newBackup(g *globals) *cobra.Command {
	var file string
	var withKeys bool
	var secret secretFlags
	cmd := &cobra.Command{
		Use: "backup", Short: "Write everything a hub keeps into one file, while it runs", Args: cobra.NoArgs,
		Long: "The backup holds the database, the hub's key, the owner's token, agents, skills,\nsettings, recordings and what tasks handed over: keep it as safe as the data folder\nitself. " +
			"With --with-keys it also holds the keys of hosted agents, sealed with a\npassphrase, so that a restored agent is the same agent to everybody who knows it.\nNot in it: the rest of the workspace.\n\n" + passphraseHelp,
		Example: "  parley backup -o parley-$(date +%F).tar.gz\n  parley backup --with-keys --passphrase-file ~/backup.pass -o parley.tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usageError("say where to: -o FILE, or -o - for standard output")
			}
			var in rest.BackupRequest
			if withKeys {
				passphrase, err := secret.read(cmd, true)
				if err != nil {
					return err
				}
				in.Passphrase = string(passphrase)
			}
			return g.backup(cmd, file, in)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write, or - for standard output")
	cmd.Flags().BoolVar(&withKeys, "with-keys", false, "include the keys of hosted agents, sealed with a passphrase")
	secret.add(cmd)
	cmd.AddCommand(newBackupVerify(g))
	return cmd
}

func (g *globals) backup(cmd *cobra.Command, file string, in rest.BackupRequest) error {
	c, done, err := g.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	counted := &counter{}
	err = toFile(file, cmd.OutOrStdout(), func(w io.Writer) error {
		return hubapi.Copy(cmd.Context(), c, io.MultiWriter(w, counted), rest.Backup, in)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s (%d bytes)\n", file, counted.n)
	return nil
}

const passphraseHelp = "The passphrase comes from --passphrase-file, from PARLEY_PASSPHRASE, or is asked for on\na terminal; never from the command line, which others on this machine can read."

// secretFlags say where a passphrase comes from.
type secretFlags struct{ file string }

func (s *secretFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "passphrase-file", "", "file with the passphrase in its first line")
}

// read gets the passphrase; a new one is asked for twice. Without a terminal there is
// nobody to ask.
func (s *secretFlags) read(cmd *cobra.Command, isNew bool) ([]byte, error) {
	if s.file != "" {
		text, err := readFile(s.file)
		if err != nil {
			return nil, err
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
			return nil, usageError("%s has no passphrase in its first line", s.file)
		}
		return line, nil
	}
	if p := os.Getenv("PARLEY_PASSPHRASE"); p != "" {
		return []byte(p), nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(in.Fd()) {
		return nil, usageError("a passphrase is needed: give --passphrase-file, or set PARLEY_PASSPHRASE")
	}
	first, err := askSecret(cmd, in, "Passphrase: ")
	if err != nil || !isNew {
		return first, err
	}
	again, err := askSecret(cmd, in, "Once more: ")
	if err == nil && !bytes.Equal(first, again) {
		err = usageError("these were two different passphrases")
	}
	return first, err
}

// askSecret asks without showing what is typed.
func askSecret(cmd *cobra.Command, in *os.File, question string) ([]byte, error) {
	fmt.Fprint(cmd.ErrOrStderr(), question)
	answer, err := term.ReadPassword(in.Fd())
	fmt.Fprintln(cmd.ErrOrStderr())
	if err == nil && len(answer) == 0 {
		err = usageError("the passphrase is empty")
	}
	return answer, err
}

func newBackupVerify(g *globals) *cobra.Command {
	var secret secretFlags
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Restore a backup into a folder of its own and compare", Args: cobra.ExactArgs(1),
		Long: "Restores the backup into a temporary folder, compares every table and every file with what\nthe backup holds, walks the audit trail, says what a restored hub would lack, and removes the\nfolder again. " +
			"No hub is needed, and none is touched. Ends with 1 if something does not come back.\n\n" +
			"Sealed keys are opened if --passphrase-file or PARLEY_PASSPHRASE gives the passphrase.",
		Example: "  parley backup verify parley-2026-01-31.tar.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			var passphrase []byte
			var err error
			if secret.file != "" || os.Getenv("PARLEY_PASSPHRASE") != "" {
				if passphrase, err = secret.read(cmd, false); err != nil {
					return err
				}
			}
			var v hub.Verified
			err = withInput(args[0], cmd.InOrStdin(), func(in io.Reader) (err error) {
				v, err = hub.VerifyBackup(cmd.Context(), in, passphrase)
				return err
			})
			if err != nil {
				return err
			}
			if err := g.show(cmd, v, func(p *printer) { describeVerified(p, v) }); err != nil {
				return err
			}
			if len(v.Problems) > 0 {
				return &exitError{code: 1}
			}
			return nil
		},
	}
	secret.add(cmd)
	return jsonFlag(cmd, g)
}

func describeVerified(p *printer, v hub.Verified) {
	p.line(fmt.Sprintf("made %s by parley %s: %d rows in %d tables, %d files", v.Made.Format(time.RFC3339), v.Version, v.Rows, v.Tables, v.Files))
	switch v.Keys {
	case "opened":
		p.line("keys of hosted agents: there, and the passphrase opens them")
	case "sealed":
		p.line("keys of hosted agents: there, sealed; not opened without the passphrase")
	}
	for _, missing := range v.Missing {
		p.line("not in it: " + missing)
	}
	for _, problem := range v.Problems {
		p.line("PROBLEM: " + problem)
	}
	if len(v.Problems) == 0 {
		p.line(fmt.Sprintf("everything comes back as it was; the audit trail is intact (%d entries)", v.Trail.Entries))
	}
}

// counter counts what passes.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

func newMigrate(g *globals) *cobra.Command {
	var m hub.Migration
	cmd := &cobra.Command{
		Use: "migrate --to postgres://…", Short: "Move a stopped hub from SQLite to PostgreSQL", Args: cobra.NoArgs,
		Long: "Copies the database of the data folder into an empty PostgreSQL, in one transaction, reads all of\nit again, and compares every table by the number and the sums of its rows. The source is only\nread: " +
			"as long as no hub was started on the new database, it can be done again. Files of the data\nfolder stay where they are. Ends with 1 if a table did not arrive as it was.",
		Example: "  parley migrate --to postgres://parley@db.example.org/parley --switch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.To == "" {
				m.To = os.Getenv("PARLEY_MIGRATE_TO") // which others on this machine cannot read
			}
			if m.To == "" {
				return usageError("say where to: --to postgres://…, or PARLEY_MIGRATE_TO")
			}
			conf, err := config.Load(config.Sources{Data: g.data, Environ: os.Environ()})
			if err != nil {
				return err
			}
			m.Progress = func(table string, rows int64) { fmt.Fprintf(cmd.ErrOrStderr(), "%-28s %d rows\n", table, rows) }
			out, err := hub.Migrate(cmd.Context(), conf, m)
			if err != nil {
				return err
			}
			if err := g.show(cmd, out, func(p *printer) { describeMigrated(p, out, m.Switch) }); err != nil {
				return err
			}
			if len(out.Problems) > 0 {
				return &exitError{code: 1}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&m.To, "to", "", "the empty PostgreSQL database (PARLEY_MIGRATE_TO)")
	cmd.Flags().BoolVar(&m.Switch, "switch", false, "have the data folder's parley.yaml name the new database")
	return jsonFlag(cmd, g)
}

func describeMigrated(p *printer, out hub.Migrated, switched bool) {
	for _, problem := range out.Problems {
		p.line(problem)
	}
	switch {
	case len(out.Problems) > 0:
		p.line(fmt.Sprintf("%d tables did not arrive as they were; the source is as it was", len(out.Problems)))
	case switched:
		p.line(fmt.Sprintf("%d rows of %d tables are in %s, compared one by one; parley.yaml names it now", out.Rows, out.Tables, out.To))
	default:
		p.line(fmt.Sprintf("%d rows of %d tables are in %s, compared one by one; start the hub with --db or PARLEY_DB", out.Rows, out.Tables, out.To))
	}
}

func newRestore(g *globals) *cobra.Command {
	var db string
	var secret secretFlags
	var without bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Make a new data folder from a backup", Args: cobra.ExactArgs(1),
		Long: "Restores into the folder given by --data, which must be new or empty, and into a new\ndatabase: all of it or nothing. With --db postgres://… a backup of a SQLite hub moves\nto PostgreSQL, and the new folder's parley.yaml names that database.\n\n" +
			"A backup made with --with-keys needs its passphrase, or --without-keys. " + passphraseHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := config.Load(config.Sources{Data: g.data, Environ: os.Environ(), Flags: flagIf("db", db)})
			if err != nil {
				return err
			}
			secrets := hub.Secrets{LeaveKeys: without}
			if secret.file != "" || os.Getenv("PARLEY_PASSPHRASE") != "" {
				if secrets.Passphrase, err = secret.read(cmd, false); err != nil {
					return err
				}
			}
			if err := secret.restore(cmd, conf, args[0], secrets); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "restored into %s; start it with 'parley serve --data %s'\n", g.data, g.data)
			return nil
		},
	}
	cmd.Flags().StringVar(&db, "db", "", "restore into this database instead of SQLite in the folder")
	cmd.Flags().BoolVar(&without, "without-keys", false, "leave the sealed keys out: hosted agents get new ones")
	secret.add(cmd)
	return cmd
}

// restore asks for the passphrase only if the backup turns out to need one.
func (s *secretFlags) restore(cmd *cobra.Command, conf config.Config, file string, secrets hub.Secrets) error {
	once := func(in io.Reader) error { return hub.Restore(cmd.Context(), conf, in, secrets) }
	err := withInput(file, cmd.InOrStdin(), once)
	if !errors.Is(err, hub.ErrKeysSealed) || file == "-" {
		return err
	}
	if secrets.Passphrase, err = s.read(cmd, false); err != nil {
		return usageError("%v; %v, or give --without-keys", hub.ErrKeysSealed, err)
	}
	return withInput(file, cmd.InOrStdin(), once)
}

// withInput opens a file, or standard input for -.
func withInput(file string, stdin io.Reader, use func(io.Reader) error) error {
	if file == "-" {
		return use(stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return use(f)
}

func flagIf(name, value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{name: value}
}
