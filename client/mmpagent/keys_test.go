package mmpagent_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"parley.internal/client/mmpagent"
	"parley.internal/protocol/mmp"
)

func TestKeyFilesAreForTheirOwnerAloneAndAreNeverOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ada.pem")
	keys, err := mmpagent.CreateKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mmpagent.CreateKeys(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	again, err := mmpagent.OpenKeys(path, nil)
	if err != nil || again.ID() != keys.ID() || len(again.Ring.HPKE) != len(keys.Ring.HPKE) {
		t.Errorf("%+v %v", again, err)
	}
	if runtime.GOOS != "windows" {
		for _, name := range []string{path, path + ".hpke"} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v; want no error, info.Mode().Perm() to be 0o600", name, info.Mode(), err)
			}
		}
	}
	public, err := os.ReadFile(path + ".pub")
	if err != nil || string(public) != keys.Ring.RSA.Public().PEM() {
		t.Errorf("%s %v", public, err)
	}
	if err := os.WriteFile(path+".broken", []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mmpagent.OpenKeys(path+".broken", nil); !errors.Is(err, mmp.ErrBadKey) {
		t.Errorf("got %v", err)
	}
}

func TestOfTwoWhoMakeAKeyAtTheSameTimeOneIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ada.pem")
	var made [2]mmpagent.Keys
	var failed [2]error
	var both sync.WaitGroup
	for i := range made {
		both.Go(func() { made[i], failed[i] = mmpagent.CreateKeys(path) })
	}
	both.Wait()
	first := 0
	if failed[0] != nil {
		first = 1
	}
	if failed[first] != nil || !errors.Is(failed[1-first], os.ErrExist) {
		t.Fatalf("%v, %v; want failed[first] to be nil, os.ErrExist", failed[0], failed[1])
	}
	if kept, err := mmpagent.OpenKeys(path, nil); err != nil || kept.ID() != made[first].ID() {
		t.Errorf("%s is kept, %s was made: %v", kept.ID(), made[first].ID(), err)
	}
}

func TestBothBackupsRestoreAndAWrongPassphraseIsNamed(t *testing.T) {
	dir := t.TempDir()
	keys := shared()[0]
	for name, legacy := range map[string]bool{"ours": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			backup, err := keys.Backup([]byte("open sesame"), legacy)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name+".pem")
			if _, err := mmpagent.RestoreKeys(path, backup, []byte("open barley")); !errors.Is(err, mmp.ErrPassphrase) {
				t.Errorf("got %v", err)
			}
			got, err := mmpagent.RestoreKeys(path, backup, []byte("open sesame"))
			if err != nil || got.ID() != keys.ID() {
				t.Fatalf("%v", err)
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%v %v", info, err)
			}
			if _, err := mmpagent.RestoreKeys(path, backup, []byte("open sesame")); !errors.Is(err, os.ErrExist) {
				t.Errorf("got %v", err)
			}
		})
	}
}
