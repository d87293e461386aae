package fleet_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// release signs a program.
func release(key ed25519.PrivateKey, version, platform string, body []byte) update.Upload {
	sum := sha256.Sum256(body)
	return update.Upload{
		Platform: platform, Version: version, Body: bytes.NewReader(body), Key: kenny.FormatPublicKey(key.Public().(ed25519.PublicKey)),
		Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(key, kenny.ReleaseMessage(version, platform, sum))),
	}
}

func newKey() ed25519.PrivateKey {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	return key
}

func content(t *testing.T, c update.Content) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, c.WriteTo(t.Context(), &b))
	if int64(b.Len()) != c.Size {
		t.Errorf("%d bytes, announced %d", b.Len(), c.Size)
	}
	return b.Bytes()
}

func TestBinariesNeedAValidSignature(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		w := newWorld(t, setup{db: db, deps: func(d *fleet.Deps) { d.ReleaseKeys = []ed25519.PublicKey{key.Public().(ed25519.PublicKey)} }})
		body := make([]byte, 3<<20+17)
		_, _ = rand.Read(body)
		good := release(key, "2.0.0", "linux-amd64", body)
		for name, up := range map[string]update.Upload{
			"changed":          {Platform: good.Platform, Version: good.Version, Key: good.Key, Signature: good.Signature, Body: bytes.NewReader(body[1:])},
			"other version":    {Platform: good.Platform, Version: "2.0.1", Key: good.Key, Signature: good.Signature, Body: bytes.NewReader(body)},
			"other platform":   {Platform: "linux-arm64", Version: good.Version, Key: good.Key, Signature: good.Signature, Body: bytes.NewReader(body)},
			"foreign key":      release(newKey(), "2.0.0", "linux-amd64", body),
			"no signature":     {Platform: good.Platform, Version: good.Version, Key: good.Key, Body: bytes.NewReader(body)},
			"no such platform": release(key, "2.0.0", "plan9-amd64", body),
			"empty":            release(key, "2.0.0", "linux-amd64", nil),
		} {
			if _, err := w.fleet.AddBinary(t.Context(), op(), up); err == nil {
				t.Errorf("%s: taken", name)
			}
		}
		parts := 0
		check(t, db.Read(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(`SELECT count(*) FROM fleet_binary_parts`).Scan(&parts) }))
		if parts != 0 {
			t.Errorf("%d parts of refused programs are left", parts)
		}
		b := must(w.fleet.AddBinary(t.Context(), op(), good))(t)
		if list := must(w.fleet.Binaries(t.Context(), op()))(t); len(list) != 1 || list[0].SHA256 != b.SHA256 || b.Size != int64(len(body)) {
			t.Errorf("%+v", list)
		}
	})
}

func TestAnUpdateSendsALinkThatServesTheExactBytes(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	_, err := w.fleet.Update(t.Context(), op(), "pc", "")
	wantCode(t, err, fault.Unavailable)
	body := []byte(strings.Repeat("program ", 1000))
	up := release(newKey(), "2.0.0", "linux-amd64", body)
	must(w.fleet.AddBinary(t.Context(), op(), up))(t)
	var got struct{ Version, URL, SHA256 string }
	m.answers(func(r *kenny.Request) (jsontext.Value, *kenny.Error) {
		check(t, json.Unmarshal(r.Args, &got, json.MatchCaseInsensitiveNames(true)))
		return jsontext.Value(`{"ok":true,"staged_version":"2.0.0"}`), nil
	})
	done := must(w.fleet.Update(t.Context(), op(), "pc", ""))(t)
	nonce := strings.TrimPrefix(got.URL, "https://hub.example/d/endpoint/")
	if !done.OK || done.Version != "2.0.0" || got.Version != "2.0.0" || got.SHA256 != done.SHA256 || len(nonce) != 43 {
		t.Errorf("%+v %+v", done, got)
	}
	for range 2 { // reusable for a while
		if served := content(t, must(w.fleet.Download(t.Context(), nonce))(t)); !bytes.Equal(served, body) {
			t.Error("other bytes")
		}
		if s := must(w.fleet.DownloadSignature(t.Context(), nonce))(t); s != up.Signature {
			t.Errorf("s is %v; want %v", s, up.Signature)
		}
	}
	if _, err := w.fleet.Download(t.Context(), "unknown"); !errors.Is(err, fleet.ErrNoLink) {
		t.Error(err)
	}
	for _, c := range must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls {
		if strings.Contains(string(c.Args), nonce) {
			t.Error("the call log has the address")
		}
	}
	m.answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
		return nil, &kenny.Error{Code: "blocked", Message: "not newer"}
	})
	_, err = w.fleet.Update(t.Context(), op(), "pc", "")
	wantCode(t, err, fault.Blocked)
	m.cut()
	_, err = w.fleet.Update(t.Context(), op(), "pc", "")
	wantCode(t, err, fault.Offline)
}

func TestAnUpdatesAddressEndsAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = time.Minute }})
		m := w.join("pc").echoes()
		must(w.fleet.AddBinary(t.Context(), op(), release(newKey(), "2", "linux-amd64", []byte("x"))))(t)
		must(w.fleet.Update(t.Context(), op(), "pc", ""))(t)
		var a struct{ URL string }
		check(t, json.Unmarshal((<-m.asked).Args, &a, json.MatchCaseInsensitiveNames(true)))
		nonce := a.URL[strings.LastIndex(a.URL, "/")+1:]
		<-time.After(10*time.Minute - time.Second)
		must(w.fleet.Download(t.Context(), nonce))(t)
		<-time.After(2 * time.Second)
		if _, err := w.fleet.Download(t.Context(), nonce); !errors.Is(err, fleet.ErrNoLink) {
			t.Error(err)
		}
		m.leave()
	})
}

// updater is a machine that comes back with another version, or not.
func (w *world) updater(id string, key ed25519.PrivateKey, becomes string) *fake {
	m := w.connect(id, key)
	m.answers(func(r *kenny.Request) (jsontext.Value, *kenny.Error) {
		if becomes == "refuses" {
			return nil, &kenny.Error{Code: "exec_failed", Message: "wrong signature"}
		}
		m.replies.Go(func() {
			<-time.After(time.Millisecond)
			m.cut()
			if becomes == "" {
				return
			}
			next := w.newFake(id, key)
			next.meta.Version = becomes
			check(w.t, next.dial())
		})
		return jsontext.Value(`{"ok":true,"staged_version":"2.0.0"}`), nil
	})
	return m
}

func (w *world) rollout(t *testing.T, until func(update.Rollout) bool) update.Rollout {
	t.Helper()
	for range 10_000 {
		r := must(w.fleet.Rollouts(context.Background(), op()))(t)[0]
		if until(r) {
			return r
		}
		<-time.After(time.Second)
	}
	t.Fatalf("never: %+v", must(w.fleet.Rollouts(context.Background(), op()))(t)[0])
	return update.Rollout{}
}

func TestARolloutGoesInWavesAndStopsOnFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true})
		must(w.fleet.AddBinary(t.Context(), op(), release(newKey(), "2.0.0", "linux-amd64", []byte("x"))))(t)
		for i := range 21 {
			id := fmt.Sprintf("m%02d", i)
			becomes := "2.0.0"
			if i == 2 {
				becomes = "1.0.0" // it comes back as it was
			}
			w.updater(id, w.enrol(id), becomes)
		}
		must(w.fleet.StartRollout(t.Context(), op(), update.RolloutRequest{All: true}))(t)
		r := w.rollout(t, func(r update.Rollout) bool { return r.State == update.RolloutStopped })
		states := map[update.State]int{}
		for _, m := range r.Machines {
			states[m.State]++
		}
		if r.Wave != 2 || states[update.Connected] != 2 || states[update.RolledBack] != 1 || states[update.Waiting] != 18 {
			t.Errorf("%+v %v", r.State, states)
		}
		if _, err := w.fleet.SteerRollout(t.Context(), op(), r.ID, update.RolloutCancelled); fault.CodeOf(err) != fault.Conflict {
			t.Error(err)
		}
		w.stop()
	})
}

func TestARolloutCanBePausedAndEndsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true})
		must(w.fleet.AddBinary(t.Context(), op(), release(newKey(), "2.0.0", "linux-amd64", []byte("x"))))(t)
		for i := range 5 {
			id := fmt.Sprintf("m%d", i)
			w.updater(id, w.enrol(id), "2.0.0")
		}
		r := must(w.fleet.StartRollout(t.Context(), op(), update.RolloutRequest{All: true, Version: "2.0.0"}))(t)
		must(w.fleet.SteerRollout(t.Context(), op(), r.ID, update.RolloutPaused))(t)
		<-time.After(time.Minute)
		synctest.Wait()
		if r := w.rollout(t, func(update.Rollout) bool { return true }); r.State != update.RolloutPaused || r.Wave > 2 {
			t.Errorf("%+v; want r.State to be %v, r.Wave to be at most 2", r, update.RolloutPaused)
		}
		must(w.fleet.SteerRollout(t.Context(), op(), r.ID, update.RolloutRunning))(t)
		r = w.rollout(t, func(r update.Rollout) bool { return r.State == update.RolloutDone })
		for _, m := range r.Machines {
			if m.State != update.Connected {
				t.Errorf("%+v; want m.State to be %v", m, update.Connected)
			}
		}
		r = must(w.fleet.StartRollout(t.Context(), op(), update.RolloutRequest{All: true, Version: "2.0.0"}))(t)
		if r = must(w.fleet.SteerRollout(t.Context(), op(), r.ID, update.RolloutCancelled))(t); r.State != update.RolloutCancelled {
			t.Errorf("cancelled: %+v", r)
		}
		w.stop()
	})
}

func TestAMachineThatDoesNotComeBackIsSilentAndARefusalFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = 10 * time.Second }})
		must(w.fleet.AddBinary(t.Context(), op(), release(newKey(), "2.0.0", "linux-amd64", []byte("x"))))(t)
		for id, becomes := range map[string]string{"silent": "", "refuses": "refuses"} {
			w.updater(id, w.enrol(id), becomes)
			must(w.fleet.StartRollout(t.Context(), op(), update.RolloutRequest{Machines: []string{id}}))(t)
			r := w.rollout(t, func(r update.Rollout) bool { return r.State == update.RolloutStopped })
			want := update.Silent
			if becomes == "refuses" {
				want = update.Failed
			}
			if r.Machines[0].State != want {
				t.Errorf("%s: %+v; want r.Machines[0].State to be %v", id, r.Machines, want)
			}
		}
		w.stop()
	})
}

func ownProgram(t *testing.T) update.OwnProgram {
	path := filepath.Join(t.TempDir(), "parley")
	check(t, os.WriteFile(path, []byte("#!/bin/sh\necho the endpoint\n"), 0o755))
	return update.OwnProgram{Platform: "linux-amd64", Version: "1.2.3", Path: path}
}

func TestInstallLinksWorkOnceAndMintOnlyWhenOpened(t *testing.T) {
	own := ownProgram(t)
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	must(w.fleet.Create(t.Context(), op(), "pc", "", nil))(t)
	minted := func() (n int) {
		check(t, w.db.Read(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(`SELECT count(*) FROM fleet_enrol`).Scan(&n) }))
		return n
	}
	lines := must(w.fleet.InstallLink(t.Context(), op(), "pc"))(t)
	_, nonce, _ := strings.Cut(strings.Split(lines.Sh, "'")[1], "/install/")
	if minted() != 0 || lines.PS1 != "" {
		t.Errorf("%d tokens before anybody opened it, or a line nobody can be served: %+v", minted(), lines)
	}
	check(t, w.fleet.PeekInstall(t.Context(), nonce, update.ShellPOSIX))
	if _, err := w.fleet.InstallProgram(t.Context(), nonce, "linux-amd64"); !errors.Is(err, fleet.ErrNoLink) {
		t.Errorf("the program before the script: %v", err)
	}
	_, err := w.fleet.OpenInstall(t.Context(), nonce, update.ShellPowerShell, "")
	wantCode(t, err, fault.Unavailable) // no Windows program here; the link stays good
	script := must(w.fleet.OpenInstall(t.Context(), nonce, update.ShellPOSIX, "192.0.2.1"))(t)
	program := content(t, must(w.fleet.InstallProgram(t.Context(), nonce, "linux-amd64"))(t))
	sum := sha256.Sum256(program)
	for _, part := range []string{"ID='pc'", "URL='https://hub.example'", w.fleet.PublicKey(), hex.EncodeToString(sum[:]), "/bin/linux-amd64", "endpoint install"} {
		if !strings.Contains(script, part) {
			t.Errorf("no %s in\n%s", part, script)
		}
	}
	_, token, _ := strings.Cut(script, "PARLEY_ENROLL_TOKEN='")
	token, _, _ = strings.Cut(token, "'")
	check(t, w.bind("pc", token, newPublic(t)))
	for _, shell := range []update.Shell{update.ShellPOSIX, update.ShellPowerShell} {
		if _, err := w.fleet.OpenInstall(t.Context(), nonce, update.ShellPOSIX, ""); !errors.Is(err, fleet.ErrNoLink) {
			t.Errorf("%s: opened twice: %v", shell, err)
		}
	}
	if _, err := w.fleet.InstallProgram(t.Context(), nonce, "plan9-mips"); !errors.Is(err, fleet.ErrNoLink) {
		t.Error(err)
	}
	none := newWorld(t, setup{})
	must(none.fleet.Create(t.Context(), op(), "pc", "", nil))(t)
	err = none.fleet.Installer(t.Context(), op(), "pc", "", io.Discard)
	wantCode(t, err, fault.Unavailable)
}

func TestTheInstallerZipHasProgramScriptAndReadme(t *testing.T) {
	own := ownProgram(t)
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	must(w.fleet.Create(t.Context(), op(), "pc", "", nil))(t)
	var b bytes.Buffer
	check(t, w.fleet.Installer(t.Context(), op(), "pc", "", &b))
	z := must(zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	if strings.Join(names, " ") != "parley install.sh README.txt" {
		t.Errorf("names is %v; want strings.Join(names, \" \") to be \"parley install.sh README.txt\"", names)
	}
}

func TestScreenshotsAreKeptAndOnlyPicturesAre(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	var picture bytes.Buffer
	check(t, png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 4, 3))))
	answer := `{"image_b64":"` + base64.StdEncoding.EncodeToString(picture.Bytes()) + `","format":"png","width":4,"height":3}`
	m.answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return jsontext.Value(answer), nil })
	_, err := w.fleet.ScreenshotPNG(t.Context(), op(), "pc", 0)
	wantCode(t, err, fault.NotFound)
	for range 12 {
		must(w.fleet.TakeScreenshot(t.Context(), op(), call.Request{Machine: "pc"}))(t)
	}
	list := must(w.fleet.Screenshots(t.Context(), op(), "pc"))(t)
	if len(list) != 10 || list[0].N != 12 || list[0].Width != 4 || list[0].By != "person:owner" {
		t.Errorf("%+v; want len(list) to be 10, list[0].N to be 12, list[0].Width to be 4, list[0].By to be \"person:owner\"", list)
	}
	if got := must(w.fleet.ScreenshotPNG(t.Context(), op(), "pc", 12))(t); !bytes.Equal(got, picture.Bytes()) {
		t.Error("another picture")
	}
	check(t, w.fleet.RemoveScreenshot(t.Context(), op(), "pc", 12))
	_, err = w.fleet.ScreenshotPNG(t.Context(), op(), "pc", 12)
	wantCode(t, err, fault.NotFound)
	answer = `{"image_b64":"` + base64.StdEncoding.EncodeToString([]byte("<svg onload=alert(1)>")) + `"}`
	_, err = w.fleet.TakeScreenshot(t.Context(), op(), call.Request{Machine: "pc"})
	wantCode(t, err, fault.Internal)
}

// A hub sent its own program to whatever had connected, also to endpoints of other
// makers, which would have replaced themselves by it.
func TestOurProgramIsOfferedToNobodyElsesEndpoint(t *testing.T) {
	w := newWorld(t, setup{})
	must(w.fleet.AddBinary(t.Context(), op(), release(newKey(), "2.0.0", "linux-amd64", []byte("program"))))(t)
	for name, c := range map[string]struct {
		extra map[string]jsontext.Value
		want  bool
	}{
		"original": {nil, false},
		"another":  {map[string]jsontext.Value{kenny.ProgramKey: jsontext.Value(`"other"`), kenny.ControlKey: jsontext.Value(`"on"`)}, false},
		"earlier":  {map[string]jsontext.Value{kenny.ControlKey: jsontext.Value(`"on"`)}, true},
		"ours":     {map[string]jsontext.Value{kenny.ProgramKey: jsontext.Value(`"parley"`)}, true},
	} {
		m := w.newFake(name, w.enrol(name))
		m.meta.Extra = c.extra
		asked := false
		m.answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
			asked = true
			return jsontext.Value(`{"ok":true,"staged_version":"2.0.0"}`), nil
		})
		check(t, m.dial())
		_, err := w.fleet.Update(t.Context(), op(), name, "")
		if asked != c.want || (err == nil) != c.want {
			t.Errorf("%s: our program was offered %v, %v; wanted %v", name, asked, err, c.want)
		}
		if !c.want {
			wantCode(t, err, fault.Unsupported)
		}
	}
}

// A machine that a link installed had no release key, and could never be updated.
func TestWhatALinkInstallsCanBeUpdated(t *testing.T) {
	own, key := ownProgram(t), newKey()
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	must(w.fleet.AddBinary(t.Context(), op(), release(key, "2.0.0", "linux-arm64", []byte("program"))))(t)
	lines := must(w.fleet.InstallLink(t.Context(), op(), "brand-new"))(t)
	if w.view("brand-new").ID != "brand-new" {
		t.Error("a link for a new machine does not make it")
	}
	_, nonce, _ := strings.Cut(strings.Split(lines.Sh, "'")[1], "/install/")
	script := must(w.fleet.OpenInstall(t.Context(), nonce, update.ShellPOSIX, ""))(t)
	flag := " --release-key '" + kenny.FormatPublicKey(key.Public().(ed25519.PublicKey)) + "'"
	if !strings.Contains(script, flag) {
		t.Errorf("no%s in\n%s", flag, script)
	}
	trusted := newKey().Public().(ed25519.PublicKey)
	w = newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own, d.ReleaseKeys = own, []ed25519.PublicKey{trusted} }})
	var b bytes.Buffer
	must(w.fleet.Create(t.Context(), op(), "pc", "", nil))(t)
	check(t, w.fleet.Installer(t.Context(), op(), "pc", "", &b))
	z := must(zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	text := must(io.ReadAll(must(z.Open("install.sh"))(t)))(t)
	if !strings.Contains(string(text), kenny.FormatPublicKey(trusted)) {
		t.Errorf("the installer does not tell the key the hub trusts:\n%s", text)
	}
}

func TestALinkNeedsAProgramAndSomebodyWhoMayMakeMachines(t *testing.T) {
	own := ownProgram(t)
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Own = own }})
	_, err := w.fleet.InstallLink(t.Context(), as(identity.AtAPI, "fleet:call", "fleet:read"), "new-one")
	wantCode(t, err, fault.Forbidden)
	_, err = w.fleet.InstallLink(t.Context(), as(identity.AtAPI, "fleet:admin", "machine:other"), "new-one")
	wantCode(t, err, fault.Forbidden)
	_, err = newWorld(t, setup{}).fleet.InstallLink(t.Context(), op(), "pc")
	wantCode(t, err, fault.Unavailable)
}
