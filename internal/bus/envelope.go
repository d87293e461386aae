package bus

import (
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// What a message between hubs looks like on NATS. Everything before the sealed
// part can be read by whoever reaches the servers, and changed by nobody: it is
// authenticated together with the subject.
//
//	version 1 | kind 1 | key 4 | session 16 | count 8 | sent 8 | length 1 | hub … | sealed data …
const (
	envelopeVersion = 1
	keyIDSize       = 4
	sessionSize     = 16
	fixedHead       = 1 + 1 + keyIDSize + chacha20poly1305.NonceSizeX + 8 + 1
	// maxHubName bounds the sender's name, so that every hub has the same limit
	// for its messages whatever it is called.
	maxHubName = 64
	// sealingCost is what a sealed message is larger by, at most.
	sealingCost = fixedHead + maxHubName + chacha20poly1305.Overhead
)

// kind is what a message is for. It is authenticated, so that nobody turns a
// publication into a request, or a request into an answer.
type kind byte

const (
	published kind = 1 + iota
	requested
	answered
)

// stampNonce names one sealing: a random number for the connection of the sender,
// and a count. It is the cipher's nonce, what replays are known by, and what an
// answer says it answers.
type stampNonce [chacha20poly1305.NonceSizeX]byte

// session is one connection of one hub; a hub that starts again has another.
type session [sessionSize]byte

func newNonce(s session, count uint64) (n stampNonce) {
	copy(n[:], s[:])
	binary.BigEndian.PutUint64(n[sessionSize:], count)
	return n
}

func (n stampNonce) session() session { return session(n[:sessionSize]) }
func (n stampNonce) count() uint64    { return binary.BigEndian.Uint64(n[sessionSize:]) }

// envelope is a message as it travels. Nothing in it is to be believed before
// [seal.open] has said so.
type envelope struct {
	kind  kind
	keyID [keyIDSize]byte
	nonce stampNonce
	sent  time.Time
	hub   string // of a message that is sent
	// head is everything before the sealed part.
	head, sealed []byte
}

var errUnsealed = errors.New("bus: not a sealed message")

// parse takes a message apart. It shares data.
func parse(data []byte) (e envelope, err error) {
	if len(data) < fixedHead+chacha20poly1305.Overhead || data[0] != envelopeVersion {
		return e, errUnsealed
	}
	name := int(data[fixedHead-1])
	if name > maxHubName || len(data) < fixedHead+name+chacha20poly1305.Overhead {
		return e, errUnsealed
	}
	e.kind = kind(data[1])
	rest := data[2:]
	rest = rest[copy(e.keyID[:], rest):]
	rest = rest[copy(e.nonce[:], rest):]
	e.sent = time.Unix(0, int64(binary.BigEndian.Uint64(rest)))
	e.head, e.sealed = data[:fixedHead+name], data[fixedHead+name:]
	return e, nil
}

// sender is the name of the hub a message came from.
func (e *envelope) sender() string {
	if len(e.head) < fixedHead {
		return ""
	}
	return string(e.head[fixedHead:])
}

// appendHead writes what parse reads.
func appendHead(b []byte, e *envelope) []byte {
	b = append(b, envelopeVersion, byte(e.kind))
	b = append(b, e.keyID[:]...)
	b = append(b, e.nonce[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.sent.UnixNano()))
	b = append(b, byte(len(e.hub)))
	return append(b, e.hub...)
}
