package cluster_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// password must appear nowhere, in any form.
const password = "hunter2-s3cret"

// said is everything a command prints.
func said(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := hubtest.Command(t, args...)
	cmd.Env = append(cmd.Env, env...)
	out, _ := cmd.CombinedOutput() // most of these are meant to fail
	return string(out)
}

// variables are flags as environment variables, which every command reads.
func variables(flags []string) (env []string) {
	for pair := range slices.Chunk(flags, 2) {
		name := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(pair[0], "--"), "-", "_"))
		env = append(env, "PARLEY_"+name+"="+pair[1])
	}
	return env
}

func keepsSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, part := range []string{password, "hunter2", "s3cret"} {
		if strings.Contains(text, part) {
			t.Errorf("%s shows %q:\n%s", what, part, text)
		}
	}
}

// Hubs reach NATS servers that let nobody else in, and what they show of themselves has no password in it.
func TestHubsOnNATSServersThatAskWhoComes(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T) (settings, args []string, user string){
		"user, password and permissions": func(*testing.T) (settings, args []string, user string) {
			return []string{`authorization { user: parley, password: "` + password + `", permissions: { publish: "parley.>", subscribe: "parley.>" } }`}, nil, "parley:" + password + "@"
		},
		"credentials file": func(t *testing.T) (settings, args []string, user string) {
			operator := natstest.NewOperator(t)
			return operator.Settings, []string{"--nats-credentials", operator.Credentials("parley.>")}, ""
		},
		"client certificates": func(t *testing.T) (settings, args []string, user string) {
			c := natstest.NewCerts(t)
			return []string{c.Setting()}, []string{"--nats-ca", c.CA, "--nats-cert", c.ClientCert, "--nats-key", c.ClientKey}, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, args, user := prepare(t)
			node := natstest.Run(t, settings...)
			args = append(args, "--db", pgtest.URL(t), "--nats", strings.Replace(node.URL(), "//", "//"+user, 1), "--log-level", "debug")
			a := hubtest.Start(t, hubtest.Config{Args: args})
			b := hubtest.Start(t, hubtest.Config{Args: args})
			if _, err := board(t, a, a.Owner).OpenTerminal(t.Context(), &wire.TerminalCreate{Command: "sleep 600"}); err != nil {
				t.Fatal(err)
			}
			there := board(t, b, b.Owner)
			hubtest.Eventually(t, "the other hub lists the terminal", func() bool {
				list, err := there.Terminals(t.Context())
				return err == nil && len(list) == 1
			})
			for _, path := range []string{"/api/cluster", "/api/status", "/metrics", "/readyz"} {
				keepsSecret(t, path, string(a.Do("GET", path, "").Body))
			}
			doctor := said(t, append(variables(args), "PARLEY_DATA="+filepath.Join(t.TempDir(), "data")), "doctor")
			if !strings.Contains(doctor, "NATS answers; all messages are sealed, on the subjects parley.") {
				t.Errorf("the doctor says\n%s", doctor)
			}
			keepsSecret(t, "the doctor", doctor)
			node.Kill()
			hubtest.Eventually(t, "the hub notices", func() bool { return strings.Contains(a.Output.String(), "nats connection lost") })
			keepsSecret(t, "/api/cluster without NATS", string(a.Do("GET", "/api/cluster", "").Body))
			keepsSecret(t, "the log", a.Output.String()+b.Output.String())
		})
	}
}

// The password of NATS was printed when a start failed.
func TestAStartThatFailsShowsNoPassword(t *testing.T) {
	t.Parallel()
	guarded := strings.TrimPrefix(natstest.Run(t, `authorization { user: parley, password: "x" }`).URL(), "nats://")
	pg := pgtest.URL(t)
	at := strings.LastIndexByte(pg, '@') + 1
	if at == 0 {
		at = len("postgres://")
	}
	for name, c := range map[string]struct{ db, nats, want string }{
		"NATS: a wrong host":                    {pg, "nats://parley:" + password + "@127.0.0.1:1", "127.0.0.1:1"},
		"NATS: a host nobody knows":             {pg, "nats://parley:" + password + "@nowhere.invalid:4222", "nowhere.invalid"},
		"NATS: a wrong password":                {pg, "nats://parley:" + password + "@" + guarded, guarded},
		"NATS: a wrong token":                   {pg, "nats://" + password + "@" + guarded, guarded},
		"NATS: a password that is not escaped":  {pg, "nats://parley:" + password + "/x@" + guarded, "NATS server 1"},
		"NATS: a password in a second address":  {pg, "nats://127.0.0.1:1,nats://parley:" + password + "%zz@" + guarded, "NATS server 2"},
		"PostgreSQL: a wrong host":              {"postgres://parley:" + password + "@127.0.0.1:1/parley", "", "the database cannot be reached"},
		"PostgreSQL: a wrong password":          {"postgres://nobody:" + password + "@" + pg[at:], "", "parley: "},
		"PostgreSQL: a password in the options": {"postgres://127.0.0.1:1/parley?user=parley&password=" + password, "", "parley: "},
		"PostgreSQL: one that is not escaped":   {"postgres://parley:" + password + "/x@127.0.0.1:1/parley", "", "db: "},
		"PostgreSQL: one with numbers and a /":  {"postgres://parley:12/" + password + "@127.0.0.1:1/parley", "", "db: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(pgtest.Folder(t), "data")
			env := []string{"PARLEY_DB=" + c.db, "PARLEY_NATS=" + c.nats, "PARLEY_DATA=" + data, "PARLEY_LISTEN=127.0.0.1:0", "PARLEY_LOG_LEVEL=debug"}
			for _, command := range [][]string{{"serve"}, {"doctor"}, {"doctor", "--json"}} {
				text := said(t, env, command...)
				keepsSecret(t, strings.Join(command, " "), text)
				if command[0] == "serve" && !strings.Contains(text, c.want) {
					t.Errorf("the start says %q, want %q in it", text, c.want)
				}
			}
		})
	}
}
