package board

import (
	"crypto/rand"
	"slices"
	"sync"

	"parley.internal/protocol/viber"
)

// nonces are the challenges of the open connections. They serve to tell a client
// that signed another connection's challenge from one whose signature is wrong.
type nonces struct {
	mu   sync.Mutex
	open []string // newest last
}

// maxNonces bounds how many a wrong signature is compared with.
const maxNonces = 64

func (n *nonces) issue() string {
	random := make([]byte, viber.NonceSize)
	_, _ = rand.Read(random) // it cannot fail
	nonce := viber.FormatNonce(random)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.open) >= maxNonces {
		n.open = slices.Delete(n.open, 0, 1)
	}
	n.open = append(n.open, nonce)
	return nonce
}

func (n *nonces) forget(nonce string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.open, nonce); i >= 0 {
		n.open = slices.Delete(n.open, i, i+1)
	}
}

func (n *nonces) others(nonce string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.open), func(s string) bool { return s == nonce })
}
