package bus

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"
)

// SecretSize is the least a cluster's secret has, in bytes. It must be random.
const SecretSize = 32

// errForged says that a message was not sealed by a hub of this cluster, or not
// for this subject, or was changed since.
var errForged = errors.New("bus: the seal does not hold")

// errOtherKey says that a message is sealed under a key we do not have.
var errOtherKey = errors.New("bus: sealed under another key")

// seal closes and opens what travels between the hubs of one cluster. Whoever has
// the cluster's secret can make it; nobody else can read or write a message.
type seal struct {
	aead  cipher.AEAD
	keyID [keyIDSize]byte
	// cluster is public and tells the subjects of one cluster from another's.
	cluster string
}

func newSeal(secret []byte) (*seal, error) {
	if len(secret) < SecretSize {
		return nil, fmt.Errorf("bus: the cluster's secret has %d bytes; a NATS bus needs %d", len(secret), SecretSize)
	}
	derived := func(label string, size int) []byte {
		key, err := hkdf.Key(sha256.New, secret, nil, "parley bus 1: "+label, size)
		if err != nil {
			panic(err) // only for sizes that are larger than any here
		}
		return key
	}
	aead, err := chacha20poly1305.NewX(derived("messages", chacha20poly1305.KeySize))
	if err != nil {
		return nil, err
	}
	return &seal{
		aead:    aead,
		keyID:   [keyIDSize]byte(derived("key id", keyIDSize)),
		cluster: hex.EncodeToString(derived("subjects", 8)),
	}, nil
}

// scratch is the memory of one sealing. NATS copies what is published, so it can
// be used again.
type scratch struct{ out, bound []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// keepScratch is the largest that is kept: most messages are small.
const keepScratch = 64 << 10

func (s *scratch) free() {
	if cap(s.out) <= keepScratch {
		scratches.Put(s)
	}
}

// close seals data for a subject; about is the request that an answer is for. The
// result is good until the scratch is freed.
func (l *seal) close(s *scratch, e envelope, subject string, about stampNonce, data []byte) []byte {
	e.keyID = l.keyID
	s.out = appendHead(s.out[:0], &e)
	s.bound = appendBound(s.bound[:0], s.out, e.kind, subject, about)
	s.out = l.aead.Seal(s.out, e.nonce[:], data, s.bound)
	return s.out
}

// open gives what was sealed, in the memory of the message itself.
func (l *seal) open(e envelope, subject string, about stampNonce) ([]byte, error) {
	if e.keyID != l.keyID {
		return nil, errOtherKey
	}
	s, _ := scratches.Get().(*scratch)
	defer s.free()
	s.bound = appendBound(s.bound[:0], e.head, e.kind, subject, about)
	data, err := l.aead.Open(e.sealed[:0], e.nonce[:], e.sealed, s.bound)
	if err != nil {
		return nil, errForged
	}
	return data, nil
}

// appendBound is what a seal binds the data to: the head (kind, sender, count,
// time), the subject, and for an answer the request.
func appendBound(b, head []byte, k kind, subject string, about stampNonce) []byte {
	b = append(b, head...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(subject)))
	b = append(b, subject...)
	if k == answered {
		b = append(b, about[:]...)
	}
	return b
}
