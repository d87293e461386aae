package packages_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// long says that this is `make test-packages`, which has the tools and the time.
func long(t *testing.T) {
	t.Helper()
	needLinux(t)
	if os.Getenv("PARLEY_TEST_PACKAGES") == "" {
		t.Skip("takes minutes: make test-packages")
	}
}

// packed is both programs' packages of a version, from a folder of builds.
func packed(t *testing.T, in, version string) string {
	t.Helper()
	out := t.TempDir()
	must(t, root, []string{"VERSION=" + version, "SOURCE_DATE_EPOCH=1700000000"}, "scripts/packages.sh", "build", in, out)
	return out
}

// The programs of the long form are the real ones.
func builtWhole(t *testing.T) string {
	t.Helper()
	must(t, root, []string{"VERSION=1.2.3"}, "scripts/build.sh", "linux/"+runtime.GOARCH)
	in := t.TempDir()
	for _, name := range []string{"parley-linux-" + runtime.GOARCH, "parley-endpoint-linux-" + runtime.GOARCH} {
		check(t, os.Link(filepath.Join(root, "bin/cross", name), filepath.Join(in, name)))
	}
	return in
}

// inCopy runs a script as root of a copy of this system that is thrown away.
func inCopy(t *testing.T, script string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a copy of this system needs root")
	}
	base := t.TempDir()
	// dpkg's lock, users and units are the copy's own; /run has no systemd, so nothing is started.
	enter := `set -e
mount -t tmpfs none "$1" && mkdir "$1/u" "$1/w" "$1/m"
mount -t overlay overlay -o lowerdir=/,upperdir="$1/u",workdir="$1/w" "$1/m"
mount -t tmpfs none "$1/m/run"
mount --bind "$2" "$1/m/mnt"
mount -t proc proc "$1/m/proc"
exec chroot "$1/m" sh -ec "$3"`
	return must(t, root, nil, "unshare", "--mount", "--pid", "--fork", "sh", "-c", enter, "sh", base, filepath.Dir(script), "sh /mnt/"+filepath.Base(script))
}

func debian(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not here: this needs a Debian")
	}
}

// try writes a script beside packages and runs it in a copy.
func try(t *testing.T, folder, text string) string {
	t.Helper()
	script := filepath.Join(folder, "try.sh")
	check(t, os.WriteFile(script, []byte("set -ex\nexport DEBIAN_FRONTEND=noninteractive\n"+text), 0o600))
	return inCopy(t, script)
}

func TestTheEndpointsPackageIsInstalledUpgradedAndRemoved(t *testing.T) {
	long(t)
	debian(t)
	folder, newer := packed(t, built(t), "1.2.3"), packed(t, built(t), "1.2.4")
	move(t, newer, folder)
	said := try(t, folder, `
dpkg -i /mnt/parley-endpoint_1.2.3_*.deb
parley-endpoint version
test -f /usr/lib/systemd/system/parley-endpoint.service -a -f /usr/share/man/man1/parley-endpoint-off.1.gz
test -f /usr/share/bash-completion/completions/parley-endpoint -a -f /usr/share/doc/parley-endpoint/full-control.conf
mkdir -p /var/lib/parley-endpoint && echo kept > /var/lib/parley-endpoint/key
dpkg -i /mnt/parley-endpoint_1.2.4_*.deb
dpkg-query -W -f '${Version} ${Status}\n' parley-endpoint
dpkg -r parley-endpoint
test ! -e /usr/bin/parley-endpoint
cat /var/lib/parley-endpoint/key
echo DONE`)
	for _, want := range []string{"parley-endpoint 1.2.3 ", "1.2.4 install ok installed", "kept", "DONE"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said in\n%s", want, said)
		}
	}
}

func TestTheHubsPackageIsInstalledUpgradedAndRemoved(t *testing.T) {
	long(t)
	debian(t)
	in := builtWhole(t)
	folder, newer := packed(t, in, "1.2.3"), packed(t, in, "1.2.4")
	move(t, newer, folder)
	said := try(t, folder, `
dpkg -i /mnt/parley_1.2.3_*.deb
id parley
stat -c '%a %U' /var/lib/parley
echo 'listen: 127.0.0.1:17788' >> /etc/parley/parley.yaml
su -s /bin/sh parley -c 'parley serve --data /var/lib/parley --config /etc/parley/parley.yaml' > /var/lib/parley.log 2>&1 &
n=0; until su -s /bin/sh parley -c 'parley status --data /var/lib/parley' > /dev/null 2>&1; do n=$((n+1)); test $n -lt 300; sleep 1; done
su -s /bin/sh parley -c 'parley machine link new-pc --data /var/lib/parley'
dpkg -i /mnt/parley_1.2.4_*.deb
grep -q 17788 /etc/parley/parley.yaml
dpkg-query -W -f '${Version} ${Status}\n' parley
dpkg -r parley
test ! -e /usr/bin/parley -a ! -e /usr/lib/parley/parley
test -f /var/lib/parley/parley.db
echo DONE`)
	for _, want := range []string{"700 parley", "1.2.4 install ok installed", "/install/", "DONE"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said in\n%s", want, said)
		}
	}
}

func TestTwoPackagesOfOneTreeAreTheSame(t *testing.T) {
	long(t)
	in := built(t)
	a, b := packed(t, in, "1.2.3"), packed(t, in, "1.2.3")
	entries, err := os.ReadDir(a)
	check(t, err)
	if len(entries) != 6 {
		t.Errorf("%d packages: %v", len(entries), entries)
	}
	for _, e := range entries {
		x, err := os.ReadFile(filepath.Join(a, e.Name()))
		check(t, err)
		y, err := os.ReadFile(filepath.Join(b, e.Name()))
		check(t, err)
		if !bytes.Equal(x, y) {
			t.Errorf("two %s differ", e.Name())
		}
	}
}

// A build elsewhere, from an empty cache, makes the same program.
func TestTwoBuildsMakeTheSameBytes(t *testing.T) {
	long(t)
	tree, out := t.TempDir(), t.TempDir()
	must(t, root, nil, "sh", "-c", `git ls-files -z cmd/internal cmd/parley-endpoint internal protocol client go.mod go.sum | tar -cf - --null -T - | tar -C "$1" -xf -`, "sh", tree)
	build := func(dir, cache, path string) {
		env := []string{"CGO_ENABLED=0"}
		if cache != "" {
			env = append(env, "GOCACHE="+cache)
		}
		must(t, dir, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version=1.2.3", "-o", path, "./cmd/parley-endpoint")
	}
	build(root, "", filepath.Join(out, "a"))
	build(tree, t.TempDir(), filepath.Join(out, "b"))
	x, err := os.ReadFile(filepath.Join(out, "a"))
	check(t, err)
	y, err := os.ReadFile(filepath.Join(out, "b"))
	check(t, err)
	if !bytes.Equal(x, y) {
		t.Error("two builds of one tree differ")
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	check(t, err)
	for _, e := range entries {
		check(t, os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
	}
}
