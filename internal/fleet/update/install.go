package update

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"parley.internal/protocol/kenny"
)

// Shell is the family of systems an install script is for.
type Shell string

// The families.
const (
	ShellPOSIX      Shell = "sh"
	ShellPowerShell Shell = "ps1"
)

// Ticket is what a machine needs to enrol: a token that works once, and where.
type Ticket struct {
	Machine         string
	Token           string
	ServerPublicKey string
	URL             string
	Expires         time.Time
}

// quoteSh writes a word for a POSIX shell, quotePS one for PowerShell. Everything
// that goes into a script is one of them.
func quoteSh(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quotePS(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ReleaseFlags are the flags that tell an endpoint whose updates to take: the keys
// this hub was told to trust, else those that signed what it has. Without one, a
// machine that was installed from here could never be updated from here.
func (l *Programs) ReleaseFlags(ctx context.Context) (string, error) {
	var keys []string
	for _, k := range l.d.ReleaseKeys {
		keys = append(keys, kenny.FormatPublicKey(k))
	}
	if len(keys) == 0 {
		signed, err := l.Signed(ctx)
		if err != nil {
			return "", err
		}
		for _, p := range signed {
			if !slices.Contains(keys, p.Key) {
				keys = append(keys, p.Key)
			}
		}
	}
	var flags strings.Builder
	for _, k := range keys {
		flags.WriteString(" --release-key " + quoteSh(k)) // base64: both shells quote it alike
	}
	return flags.String(), nil
}

// Script installs an endpoint: it fetches the program for the machine it runs on,
// checks the hash, and lets the program install itself.
func Script(shell Shell, m Ticket, release, from string, programs ProgramList) string {
	if shell == ShellPowerShell {
		return scriptPS1(m, release, from, programs)
	}
	return scriptSh(m, release, from, programs)
}

func scriptSh(m Ticket, release, from string, programs ProgramList) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#!/bin/sh
# Installs the Parley endpoint on this machine. The token in here works once.
set -eu
ID=%s
URL=%s
SERVER_KEY=%s
PARLEY_ENROLL_TOKEN=%s
export PARLEY_ENROLL_TOKEN
case "$(uname -s)-$(uname -m)" in
`, quoteSh(m.Machine), quoteSh(m.URL), quoteSh(m.ServerPublicKey), quoteSh(m.Token))
	for _, p := range programs {
		fmt.Fprintf(&b, "%s) PROGRAM=%s SHA256=%s ;;\n", unamePattern(p.Platform), quoteSh(from+p.Platform), quoteSh(p.SHA256))
	}
	b.WriteString(`*) echo "there is no endpoint for $(uname -s) $(uname -m) on this hub" >&2; exit 1 ;;
esac
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
if command -v curl >/dev/null 2>&1; then curl -fsSL -o "$DIR/parley" "$PROGRAM"; else wget -qO "$DIR/parley" "$PROGRAM"; fi
if command -v sha256sum >/dev/null 2>&1; then GOT=$(sha256sum "$DIR/parley"); else GOT=$(shasum -a 256 "$DIR/parley"); fi
if [ "${GOT%% *}" != "$SHA256" ]; then echo "the program is not the one the hub sent; nothing was installed" >&2; exit 1; fi
chmod 755 "$DIR/parley"
"$DIR/parley" endpoint install --url "$URL" --id "$ID" --server-key "$SERVER_KEY"`)
	b.WriteString(release + "\n")
	return b.String()
}

// unamePattern matches what uname says on a platform of ours.
func unamePattern(platform string) string {
	os, arch, _ := strings.Cut(platform, "-")
	system := map[string]string{"linux": "Linux", "darwin": "Darwin"}[os]
	names := map[string][]string{"amd64": {"x86_64", "amd64"}, "arm64": {"aarch64", "arm64"}, "386": {"i386", "i686"}, "arm": {"armv6l", "armv7l"}}[arch]
	if names == nil {
		names = []string{arch}
	}
	var patterns []string
	for _, n := range names {
		patterns = append(patterns, system+"-"+n)
	}
	return strings.Join(patterns, "|")
}

func scriptPS1(m Ticket, release, from string, programs ProgramList) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Installs the Parley endpoint on this machine. The token in here works once.
$ErrorActionPreference = 'Stop'
$id = %s
$url = %s
$serverKey = %s
$env:PARLEY_ENROLL_TOKEN = %s
$programs = @{
`, quotePS(m.Machine), quotePS(m.URL), quotePS(m.ServerPublicKey), quotePS(m.Token))
	for _, p := range programs {
		_, arch, _ := strings.Cut(p.Platform, "-")
		fmt.Fprintf(&b, "  %s = @(%s, %s)\n", quotePS(strings.ToUpper(arch)), quotePS(from+p.Platform), quotePS(p.SHA256))
	}
	b.WriteString(`}
$entry = $programs[$env:PROCESSOR_ARCHITECTURE]
if (-not $entry) { throw "there is no endpoint for $env:PROCESSOR_ARCHITECTURE on this hub" }
$file = Join-Path ([IO.Path]::GetTempPath()) ('parley-' + [guid]::NewGuid() + '.exe')
try {
  Invoke-WebRequest -UseBasicParsing -Uri $entry[0] -OutFile $file
  if ((Get-FileHash -Algorithm SHA256 $file).Hash.ToLower() -ne $entry[1]) { throw 'the program is not the one the hub sent; nothing was installed' }
  & $file endpoint install --url $url --id $id --server-key $serverKey`)
	b.WriteString(release)
	b.WriteString(`
  if ($LASTEXITCODE -ne 0) { throw "the installation failed ($LASTEXITCODE)" }
} finally {
  Remove-Item -Force -ErrorAction SilentlyContinue $file
  Remove-Item Env:PARLEY_ENROLL_TOKEN
}
`)
	return b.String()
}

// WriteZip writes a zip with a program, a script that installs it with a ticket, and a
// word about both.
func (l *Programs) WriteZip(ctx context.Context, p Program, m Ticket, release string, w io.Writer) error {
	name, install, body := "parley", "install.sh", zipSh(m, release)
	if strings.HasPrefix(p.Platform, "windows-") {
		name, install, body = "parley.exe", "install.ps1", zipPS1(m, release)
	}
	z := zip.NewWriter(w)
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if err := l.Content(p).WriteTo(ctx, file); err != nil {
		return err
	}
	readme := fmt.Sprintf("The Parley endpoint %s for %s, ready for the machine %s.\n\nRun %s with administrator's rights beside the program.\nThe token in the script works once, until %s.\nSHA-256 of the program: %s\n",
		p.Version, p.Platform, m.Machine, install, m.Expires.Format("2006-01-02 15:04 MST"), p.SHA256)
	for _, text := range []struct{ name, body string }{{install, body}, {"README.txt", readme}} {
		header := &zip.FileHeader{Name: text.name, Method: zip.Deflate}
		header.SetMode(0o700)
		file, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(file, text.body); err != nil {
			return err
		}
	}
	return z.Close()
}

func zipSh(m Ticket, release string) string {
	return fmt.Sprintf("#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")\"\nPARLEY_ENROLL_TOKEN=%s ./parley endpoint install --url %s --id %s --server-key %s%s\n",
		quoteSh(m.Token), quoteSh(m.URL), quoteSh(m.Machine), quoteSh(m.ServerPublicKey), release)
}

func zipPS1(m Ticket, release string) string {
	return fmt.Sprintf("$ErrorActionPreference = 'Stop'\n$env:PARLEY_ENROLL_TOKEN = %s\n& (Join-Path $PSScriptRoot 'parley.exe') endpoint install --url %s --id %s --server-key %s%s\nRemove-Item Env:PARLEY_ENROLL_TOKEN\n",
		quotePS(m.Token), quotePS(m.URL), quotePS(m.Machine), quotePS(m.ServerPublicKey), release)
}
