package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/identity"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/store"
	"parley.internal/internal/terminal/keeper"
)

// State is a finding's verdict.
type State string

// The verdicts.
const (
	Good State = "good"
	Note State = "note"
	Bad  State = "bad"
)

// Finding is the result of one look, with what to do about it.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

func good(check, found string) Finding { return Finding{Check: check, State: Good, Found: found} }

func note(check, found, advice string) Finding {
	return Finding{Check: check, State: Note, Found: found, Advice: advice}
}

func bad(check, found, advice string) Finding {
	return Finding{Check: check, State: Bad, Found: found, Advice: advice}
}

// Examine looks at everything a hub with these settings would need. It changes
// nothing. loaded is the error of reading the settings, if there was one.
func Examine(ctx context.Context, conf config.Config, loaded error) []Finding {
	if loaded != nil {
		return []Finding{bad("settings", fit.OneLine(loaded.Error()), "correct the setting that is named")}
	}
	findings := []Finding{good("settings", "readable")}
	for _, look := range []func(context.Context, config.Config) Finding{
		examineFolder, examineKey, examineClock, examinePort, examineDatabase, examineRights, examineTrail, examineBus, examineModel, examineTLS, examineBox, examineTerminals,
	} {
		findings = append(findings, look(ctx, conf))
	}
	return findings
}

// examineBox tells whether programs of agents are kept from everything but their folders.
func examineBox(_ context.Context, conf config.Config) Finding {
	box := sandbox.Probe(conf.Box.User)
	if box.Version == 0 {
		return note("box", box.String(), "every command of an agent asks; on Linux use a kernel with Landlock, 6.12 or newer")
	}
	if gaps := box.Gaps(); len(gaps) > 0 {
		return note("box", box.String()+": "+strings.Join(gaps, "; "), "see 'The box' in docs/security.md")
	}
	return good("box", box.String())
}

// examineTerminals counts terminals that live on without a hub that has them.
func examineTerminals(_ context.Context, conf config.Config) Finding {
	left := len(orphans(conf))
	if left == 0 {
		return good("terminals", "none waits for a hub")
	}
	return note("terminals", fmt.Sprintf("%d live on without a hub", left),
		fmt.Sprintf("start the hub, which goes on with those of its version; 'parley doctor --end-terminals' ends them, and so do %v without a hub", conf.Terminal.KeepFor))
}

// orphans are terminals that no hub has: all of them while none runs, else those of a
// version that it cannot speak to.
func orphans(conf config.Config) []string {
	f := Folder(conf.Data)
	all := keeper.Living(f.Path(keptFolder))
	if len(all) == 0 {
		return nil
	}
	if unlock, err := f.lock(); err == nil {
		unlock()
		return all
	}
	return slices.DeleteFunc(all, keeper.Current)
}

// EndTerminals ends terminals that no hub has, and tells how many.
func EndTerminals(conf config.Config) int {
	left := orphans(conf)
	for _, folder := range left {
		keeper.Free(folder)
	}
	return len(left)
}

func examineFolder(_ context.Context, conf config.Config) Finding {
	f := Folder(conf.Data)
	info, err := os.Stat(conf.Data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return note("data folder", conf.Data+" does not exist yet", "'parley up' makes it")
	case err != nil:
		return bad("data folder", fit.OneLine(err.Error()), "choose another folder with --data")
	case !info.IsDir():
		return bad("data folder", conf.Data+" is not a folder", "choose another with --data")
	}
	if err := f.checkRights(); err != nil {
		return bad("data folder", fit.OneLine(err.Error()), "chmod 700 "+conf.Data)
	}
	probe, err := os.CreateTemp(conf.Data, ".probe-*")
	if err != nil {
		return bad("data folder", "cannot be written", "give it to the user that runs the hub")
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return good("data folder", conf.Data+", for its owner only, writable")
}

func examineKey(_ context.Context, conf config.Config) Finding {
	f := Folder(conf.Data)
	info, err := os.Stat(f.Path(hubKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return note("hub key", "none yet", "the first start makes it")
	}
	if err != nil {
		return bad("hub key", fit.OneLine(err.Error()), "give the file to the user that runs the hub")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return bad("hub key", "readable by others", "chmod 600 "+f.Path(hubKeyFile))
	}
	if _, err := hubKey(f); err != nil {
		return bad("hub key", fit.OneLine(err.Error()), "restore it from a backup")
	}
	return good("hub key", "present, for its owner only")
}

// examineClock finds a clock that was never set: there is no other to compare
// with, but every program was built in the past.
func examineClock(_ context.Context, _ config.Config) Finding {
	now := time.Now()
	if now.Year() < 2026 || now.Year() > 2100 {
		return bad("clock", now.Format(time.RFC3339), "set the machine's clock; tokens and signatures depend on it")
	}
	return good("clock", now.Format(time.RFC3339))
}

func examinePort(ctx context.Context, conf config.Config) Finding {
	f := Folder(conf.Data)
	if running, err := f.Running(); err == nil {
		if unlock, err := f.lock(); err != nil {
			return good("port", "a hub runs here at "+running.URL)
		} else {
			unlock()
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", conf.Listen)
	if err != nil {
		return bad("port", conf.Listen+" cannot be used: "+fit.OneLine(err.Error()), "stop what uses it, or choose another with --listen")
	}
	_ = l.Close()
	return good("port", conf.Listen+" is free")
}

func examineDatabase(ctx context.Context, conf config.Config) Finding {
	if !hasDatabase(conf) {
		return note("database", "none yet", "the first start makes it")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, conf.Database(), store.Options{KeepVersion: true})
	if err != nil {
		return bad("database", fit.OneLine(err.Error()), databaseAdvice(err))
	}
	defer func() { _ = db.Close() }()
	if err := db.Check(ctx); err != nil {
		return bad("database", fit.OneLine(err.Error()), databaseAdvice(err))
	}
	found := fmt.Sprintf("%s, %d schema changes, intact", db, len(db.Migrations()))
	if short, err := tooFewConnections(ctx, db); err != nil || short != "" {
		return note("database", found, fit.OneLine(cmp.Or(short, fmt.Sprint(err))))
	}
	if missing, err := db.Missing(); err != nil || missing > 0 {
		return note("database", found, fmt.Sprintf("the next start makes %d more; have a backup", missing))
	}
	return good("database", found)
}

// tooFewConnections compares what PostgreSQL lets in with what the hubs that live, and one
// more, may open.
func tooFewConnections(ctx context.Context, db *store.DB) (advice string, err error) {
	if db.Dialect() != store.Postgres {
		return "", nil
	}
	var most, kept, hubs int
	var made bool
	err = db.Read(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(`SELECT current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int, to_regclass('hubs') IS NOT NULL`).Scan(&most, &kept, &made)
		if err != nil || !made {
			return err
		}
		return tx.QueryRow(`SELECT count(*) FROM hubs WHERE expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&hubs)
	})
	if need := (hubs + 1) * store.Connections; err == nil && most-kept < need {
		advice = fmt.Sprintf("PostgreSQL lets %d connections in, and %d hubs may open %d: raise max_connections", most-kept, hubs+1, need)
	}
	return advice, err
}

func hasDatabase(conf config.Config) bool {
	if conf.DB != "" {
		return true
	}
	_, err := os.Stat(conf.Database())
	return !errors.Is(err, os.ErrNotExist)
}

// examineRights tells of credentials that older hubs made wider than "*" is now.
func examineRights(ctx context.Context, conf config.Config) Finding {
	const check = "rights"
	if !hasDatabase(conf) {
		return good(check, "nobody has any yet")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, conf.Database(), store.Options{KeepVersion: true})
	if err != nil {
		return note(check, "cannot be looked at: "+fit.OneLine(err.Error()), "see the database above")
	}
	defer func() { _ = db.Close() }()
	people, err := identity.HoldersByName(ctx, db)
	switch {
	case err != nil:
		return note(check, "cannot be looked at: "+fit.OneLine(err.Error()), "see the database above")
	case len(people) > 0:
		return note(check, "talk:admin, fleet:admin or terminal:create without admin: "+strings.Join(people, ", "),
			"if that is not meant, 'parley token list', then revoke those and make them anew: * is narrower now")
	default:
		return good(check, "nobody has more than * without being given it")
	}
}

func databaseAdvice(err error) string {
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return "stop the hub and restore a backup with 'parley restore'"
	case errors.Is(err, store.ErrNewer):
		return "use the newer parley that made it"
	case errors.Is(err, store.ErrUnavailable):
		return "start the database server, and check the address and password in --db"
	case errors.Is(err, store.ErrFull):
		return "make room on the disk"
	default:
		return "check the rights of the database file and its folder"
	}
}

func examineBus(ctx context.Context, conf config.Config) Finding {
	if conf.NATS == "" {
		return good("bus", "in process (one hub)")
	}
	if err := conf.Bus().Probe(ctx); err != nil {
		return bad("bus", "NATS at "+conf.Bus().Hosts()+" does not let us in: "+fit.OneLine(err.Error()),
			"start the NATS servers, and check nats, nats_credentials, nats_ca, nats_cert and nats_key")
	}
	subjects, err := busSubjects(ctx, conf)
	if err != nil {
		return note("bus", "NATS answers; which subjects this cluster uses is not known yet", "the first start makes the secret between hubs")
	}
	return good("bus", "NATS answers; all messages are sealed, on the subjects "+subjects)
}

// busSubjects reads which subjects the hubs on this database use.
func busSubjects(ctx context.Context, conf config.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, conf.Database(), store.Options{KeepVersion: true})
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	var text string
	if err := db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT value FROM settings WHERE name = ?`, busSecretName).Scan(&text)
	}); err != nil {
		return "", err
	}
	secret, err := parseBusSecret(text)
	if err != nil {
		return "", err
	}
	return bus.SubjectsOf(secret)
}

func examineModel(_ context.Context, conf config.Config) Finding {
	provider, _, _ := strings.Cut(conf.Model, ":")
	key := map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}[provider]
	switch {
	case conf.Model == "" || provider == "offline":
		return note("model", "the offline model answers", "set PARLEY_MODEL (anthropic:NAME or openai:NAME) for a real one")
	case key == "":
		return note("model", conf.Model, "its provider must stand in providers.yaml")
	case os.Getenv(key) == "" && !(provider == "openai" && os.Getenv("OPENAI_BASE_URL") != ""):
		return bad("model", conf.Model+" has no key", "set "+key)
	default:
		return good("model", conf.Model+", key is set")
	}
}

func examineTLS(_ context.Context, conf config.Config) Finding {
	switch {
	case conf.TLS.ACMEDomain != "":
		return note("TLS", "by ACME for "+conf.TLS.ACMEDomain, "port 443 must be reachable from the internet")
	case conf.TLS.Cert == "" && len(conf.BehindProxy) > 0:
		return good("TLS", "done by the proxy")
	case conf.TLS.Cert == "":
		return good("TLS", "not needed on a loopback address")
	}
	pair, err := tls.LoadX509KeyPair(conf.TLS.Cert, conf.TLS.Key)
	if err != nil {
		return bad("TLS", fit.OneLine(err.Error()), "check tls.cert and tls.key")
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return bad("TLS", fit.OneLine(err.Error()), "check tls.cert")
	}
	left := time.Until(leaf.NotAfter)
	switch {
	case left <= 0:
		return bad("TLS", "the certificate ended on "+leaf.NotAfter.Format(time.DateOnly), "renew it")
	case left < 14*24*time.Hour:
		return note("TLS", "the certificate ends on "+leaf.NotAfter.Format(time.DateOnly), "renew it soon")
	}
	return good("TLS", "valid until "+leaf.NotAfter.Format(time.DateOnly))
}
