package update

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"parley.internal/internal/fleet/fault"
	"parley.internal/protocol/kenny"
)

// A release has the small endpoint program for every system beside the hub's own
// program, in a folder with a list of them. Whoever can write there can replace the
// hub's program too; the sums are against half a copy. A signature is what machines ask
// for before they take an update: one that does not fit leaves a program to install from.
const (
	CarriedFolder = "endpoints"
	CarriedList   = "programs.json"
)

// maxList bounds the list.
const maxList = 64 << 10

// carried is one entry of the list.
type carried struct {
	Platform string `json:"platform"`
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	// Signature and Key are the release's, as for an upload; a build of one's own has none.
	Signature string `json:"signature,omitempty"`
	Key       string `json:"key,omitempty"`
}

// ownPrograms are those that came with this hub and, where none of them is for its own
// system, the program it runs, which is an endpoint too but several times as large. They
// are read when somebody first wants them.
func (l *Programs) ownPrograms() ProgramList {
	l.own.once.Do(func() {
		own := l.d.Own
		if own.Path == "" {
			return
		}
		carried, err := readCarried(filepath.Join(filepath.Dir(own.Path), CarriedFolder))
		if err != nil {
			l.d.Report("the endpoints that came with this program", err)
		}
		for i := range carried {
			if !l.trusted(carried[i]) {
				carried[i].Signature, carried[i].Key = "", ""
			}
		}
		l.own.list = carried
		if slices.ContainsFunc(carried, func(p Program) bool { return p.Platform == own.Platform }) {
			return
		}
		if p, err := readProgram(own.Platform, own.Version, own.Path); err == nil {
			l.own.list = append(l.own.list, p)
		}
	})
	return l.own.list
}

// trusted tells whether a carried program can be an update: signed, for what it is, by a
// key this hub takes programs of.
func (l *Programs) trusted(p Program) bool {
	key, err := kenny.ParsePublicKey(p.Key)
	if err != nil || !l.takes(key) {
		return false
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(p.Signature)
	sum, hexErr := hex.DecodeString(p.SHA256)
	return err == nil && hexErr == nil && len(sum) == sha256.Size &&
		ed25519.Verify(key, kenny.ReleaseMessage(p.Version, p.Platform, [sha256.Size]byte(sum)), signature)
}

// readCarried reads the programs of a release; one that is not what the list says is
// left out.
func readCarried(folder string) (list ProgramList, err error) {
	file, err := os.Open(filepath.Join(folder, CarriedList))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	var all struct {
		Version  string    `json:"version"`
		Programs []carried `json:"programs"`
	}
	if err := json.NewDecoder(io.LimitReader(file, maxList)).Decode(&all); err != nil {
		return nil, fmt.Errorf("%s is no list of programs: %w", file.Name(), err)
	}
	if !versionText.MatchString(all.Version) {
		return nil, fmt.Errorf("%s names no version", file.Name())
	}
	var failures []error
	for _, c := range all.Programs {
		p, err := c.read(folder, all.Version)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		list = append(list, p)
	}
	return list, errors.Join(failures...)
}

func (c carried) read(folder, version string) (Program, error) {
	if !platformName.MatchString(c.Platform) || c.File != filepath.Base(c.File) || !filepath.IsLocal(c.File) {
		return Program{}, fmt.Errorf("%q is no program for %q", fault.Quotable(c.File), fault.Quotable(c.Platform))
	}
	p, err := readProgram(c.Platform, version, filepath.Join(folder, c.File))
	if err == nil && p.SHA256 != c.SHA256 {
		err = fmt.Errorf("%s is not the file that its list names: fetch the release again", c.File)
	}
	p.Signature, p.Key = c.Signature, c.Key
	return p, err
}

func readProgram(platform, version, path string) (Program, error) {
	file, err := os.Open(path)
	if err != nil {
		return Program{}, err
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	p := Program{Platform: platform, Version: version, SHA256: hex.EncodeToString(sum.Sum(nil)), Size: n, path: path}
	if info, statErr := file.Stat(); statErr == nil {
		p.Added = info.ModTime()
	}
	return p, err
}
