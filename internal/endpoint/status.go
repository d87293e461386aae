package endpoint

import (
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/endpoint/control"
	wire "parley.internal/protocol/kenny"
)

// Status is what can be said about an endpoint without asking a hub.
type Status struct {
	State string `json:"state"`
	ID    string `json:"id"`
	URL   string `json:"url"`
	// Running: an endpoint answers on this machine. Connected: its hub has
	// accepted it, since Since.
	Running   bool      `json:"running"`
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since,omitzero"`
	Version   string    `json:"version,omitempty"`
	Enrolled  bool      `json:"enrolled"`
	Service   bool      `json:"service"`
	PublicKey string    `json:"public_key,omitempty"`
	// Switch is where the person's switch stands.
	Switch control.State `json:"switch"`
	// Private: the folder could not be read by this account; what only the
	// endpoint itself tells is there.
	Private bool `json:"private,omitempty"`
}

// Look gathers the status of a state folder, as far as this account may know.
func Look(ctx context.Context, folder string) (Status, error) {
	st := Status{State: folder}
	reply, err := control.Ask(ctx, folder, control.Request{})
	st.Running = err == nil
	st.Switch = reply.State
	config, err := LoadConfig(folder)
	if os.IsPermission(err) {
		st.Private = true
		return st, nil
	}
	if err != nil {
		return st, err
	}
	st.ID, st.URL, st.Service, st.Enrolled = config.ID, config.URL, config.Service, config.EnrolledWith != ""
	if seed, err := os.ReadFile(filepath.Join(folder, keyFile)); err == nil {
		if key, err := wire.KeyFromSeed(seed); err == nil {
			public, _ := key.Public().(ed25519.PublicKey)
			st.PublicKey = wire.FormatPublicKey(public)
		}
	}
	session, err := lastSession(folder)
	if err != nil {
		return st, err
	}
	st.Version, st.Since, st.Connected = session.Version, session.At, session.Connected && st.Running
	if !st.Running {
		st.Switch = control.NewSwitch(folder, discard()).State()
	}
	return st, nil
}
