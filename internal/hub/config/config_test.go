package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/hub/config"
)

func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFlagsOverEnvironmentOverFileOverDefaults(t *testing.T) {
	dir := write(t, "listen: 127.0.0.1:1\nmodel: offline\nlog: {level: warn, format: json}\nshutdown_grace: 5s\nhosts: [a, b]\n")
	c, err := config.Load(config.Sources{
		Data:    dir,
		Environ: []string{"PARLEY_LISTEN=127.0.0.1:2", "PARLEY_MODEL=openai:x", "PARLEY_LOG_FORMAT=text", "PARLEY_TOKEN=ignored"},
		Flags:   map[string]string{"listen": "127.0.0.1:3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:3" || c.Model != "openai:x" || c.Log != (config.Log{Level: "warn", Format: "text"}) ||
		c.ShutdownGrace != 5*time.Second || c.Auth.Challenge != "auto" || strings.Join(c.Hosts, "+") != "a+b" {
		t.Errorf("%+v", c)
	}
}

func TestBadSettingsAreOneClearLine(t *testing.T) {
	cases := map[string]struct{ file, flag, value, want string }{
		"unknown key":          {"lisen: x\n", "", "", `unknown setting "lisen"`},
		"unknown nested key":   {"tls: {crt: x}\n", "", "", `unknown setting "tls.crt"`},
		"not YAML":             {"a: [\n", "", "", "parley.yaml"},
		"a list at the top":    {"- a\n", "", "", "parley.yaml"},
		"NATS alone":           {"", "nats", "nats://n1", "several hubs need one PostgreSQL"},
		"credentials alone":    {"nats_credentials: x\n", "", "", "need nats"},
		"half a NATS pair":     {"db: postgres://db/p\nnats: tls://n1\nnats_cert: x\n", "", "", "both nats_cert and nats_key"},
		"NATS over the web":    {"db: postgres://db/p\n", "nats", "nats://n1,https://n2", "NATS server 2"},
		"a slash in a secret":  {"", "db", "postgres://me:12/34@db/p", "written as %XX"},
		"bad duration":         {"shutdown_grace: soon\n", "", "", "shutdown_grace"},
		"bad truth":            {"talk: {tcp_open: maybe}\n", "", "", "neither true nor false"},
		"no port":              {"", "listen", "localhost", "HOST:PORT"},
		"public without TLS":   {"", "listen", "0.0.0.0:7788", "--behind-proxy"},
		"every address":        {"", "listen", ":7788", "--behind-proxy"},
		"half a certificate":   {"", "tls-cert", "x.pem", "both"},
		"public talk port":     {"", "talk-tcp", "0.0.0.0:1", "loopback"},
		"bad level":            {"", "log-level", "loud", "none of debug"},
		"bad database":         {"", "db", "mysql://x", "db:"},
		"cluster on SQLite":    {"", "nats", "nats://x", "PostgreSQL"},
		"proxy that is none":   {"", "behind-proxy", "everyone", "behind_proxy"},
		"public URL of a file": {"", "public-url", "file:///x", "public_url"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			flags := map[string]string{}
			if c.flag != "" {
				flags[c.flag] = c.value
			}
			_, err := config.Load(config.Sources{Data: write(t, c.file), Flags: flags})
			if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNamedFileMustExist(t *testing.T) {
	if _, err := config.Load(config.Sources{Data: t.TempDir(), File: "/nonexistent/parley.yaml"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := config.Load(config.Sources{Data: t.TempDir()}); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

func TestProxyOrTLSOpensThePublicAddress(t *testing.T) {
	for _, flags := range []map[string]string{
		{"listen": "0.0.0.0:443", "behind-proxy": "10.0.0.0/8,192.0.2.1"},
		{"listen": "[::]:443", "tls-cert": "c", "tls-key": "k"},
		{"listen": "0.0.0.0:443", "acme-domain": "hub.example.org"},
	} {
		if _, err := config.Load(config.Sources{Data: t.TempDir(), Flags: flags}); err != nil {
			t.Errorf("%v: %v; want no error", flags, err)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("listen: 127.0.0.1:1\n")
	f.Add("log: {level: 3}\nmcp: [{name: x}]\n")
	f.Add("tls: null\nhosts: 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := config.Load(config.Sources{Data: write(t, text)}); err != nil && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}
