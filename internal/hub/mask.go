package hub

import (
	"context"
	"net/url"
	"os"
	"slices"
	"strings"

	"parley.internal/internal/hub/config"
	"parley.internal/internal/mask"
	"parley.internal/internal/sandbox"
)

// openMask makes what keeps secrets out of results, records and terminals. It is
// among the first: whatever is opened later is masked from the beginning. The keys
// of models and tool servers change while the hub runs, so they are asked for.
func (h *Hub) openMask(context.Context) error {
	fixed := slices.Concat(h.conf.Terminal.Mask, secretEnvironment(os.Environ()), secretSettings(h.conf))
	h.mask = mask.New(func() []string {
		m := h.thinking.Load()
		if m == nil {
			return fixed
		}
		return slices.Concat(fixed, m.models.Secrets(), m.mcp.Secrets(), m.foreign.Secrets())
	})
	return nil
}

// secretEnvironment is the values of variables that are secret by their names. Of the
// hub's own those that end in _KEY name files.
func secretEnvironment(environ []string) (values []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		own, parley := strings.CutPrefix(name, "PARLEY")
		if parley && strings.HasSuffix(own, "_KEY") {
			continue
		}
		if len(sandbox.WithoutSecrets([]string{own + "="})) == 0 {
			values = append(values, value)
		}
	}
	return values
}

// secretSettings is what of the settings is secret.
func secretSettings(conf config.Config) []string {
	values := []string{conf.Audit.WitnessToken, conf.Rooms.ICESecret}
	for _, n := range conf.Notify {
		values = append(values, n.Secret, n.Token)
	}
	for _, address := range append(strings.Split(conf.NATS, ","), conf.DB) {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			password, _ := u.User.Password()
			values = append(values, password)
		}
	}
	return values
}
