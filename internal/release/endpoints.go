package release

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/protocol/kenny"
)

// EndpointPrefix is how the small endpoint programs of a release begin; what they run on follows.
const EndpointPrefix = "parley-endpoint-"

// EndpointList is the list that a hub reads; internal/fleet/update has the reader.
type EndpointList struct {
	Version  string     `json:"version"`
	Programs []Endpoint `json:"programs"`
}

// Endpoint is one of its programs.
type Endpoint struct {
	Platform  string `json:"platform"`
	File      string `json:"file"`
	SHA256    string `json:"sha256"`
	Signature string `json:"signature,omitempty"`
	Key       string `json:"key,omitempty"`
}

// ListEndpoints writes programs.json for the endpoint programs of a folder, each signed
// as an update where there is a key.
func ListEndpoints(folder, version string, key ed25519.PrivateKey) error {
	paths, err := filepath.Glob(filepath.Join(folder, EndpointPrefix+"*"))
	if err != nil {
		return err
	}
	list := EndpointList{Version: version}
	for _, path := range paths {
		name := filepath.Base(path)
		e := Endpoint{Platform: strings.TrimSuffix(strings.TrimPrefix(name, EndpointPrefix), ".exe"), File: name}
		if e.SHA256, err = sumFile(path); err != nil {
			return err
		}
		if key != nil {
			var sum [32]byte
			_, _ = hex.Decode(sum[:], []byte(e.SHA256)) // sumFile wrote it
			public, _ := key.Public().(ed25519.PublicKey)
			e.Key = kenny.FormatPublicKey(public)
			e.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, kenny.ReleaseMessage(version, e.Platform, sum)))
		}
		list.Programs = append(list.Programs, e)
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "programs.json"), append(text, '\n'), 0o644) //nolint:gosec // for everybody
}
