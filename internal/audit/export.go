package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// exportEntry is the line of an entry: what is hashed, and its links.
type exportEntry struct {
	canonicalEntry
	Hash Hash `json:"hash"`
	Prev Hash `json:"prev"`
}

// checkpointLine follows the entry it signs.
type checkpointLine struct {
	Checkpoint exportCheckpoint `json:"checkpoint"`
}

// checkpointStart tells the two sorts of lines apart.
var checkpointStart = []byte(`{"checkpoint":`)

type exportCheckpoint struct {
	At        int64  `json:"at"`
	Hash      Hash   `json:"hash"`
	PublicKey string `json:"public_key"`
	Seq       int64  `json:"seq"`
	Signature string `json:"signature"`
}

// Export yields the whole trail as JSON lines without line ends: entries with
// their hashes, and each checkpoint after the entry it signs. It checks the
// chain on the way and fails at the first entry that is not as it was written.
func (l *Chain) Export(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		send := func(line any) error {
			data, err := canonicalJSON(line)
			if err != nil {
				return err
			}
			if !yield(data, nil) {
				return errStopped
			}
			return nil
		}
		err := l.walkAll(ctx, newWalk(l.trusted(), nil),
			func(s stored) error {
				return send(exportEntry{s.canonicalEntry, exactHash(s.hash), exactHash(s.prev)})
			},
			func(cp Checkpoint) error { return send(checkpointLine{cp.export()}) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("the reader stopped")

func (c Checkpoint) export() exportCheckpoint {
	return exportCheckpoint{c.At.UnixMicro(), c.Hash, hex.EncodeToString(c.PublicKey), c.Seq, hex.EncodeToString(c.Signature)}
}

func (c exportCheckpoint) checkpoint() (Checkpoint, error) {
	key, err := hex.DecodeString(c.PublicKey)
	if err != nil {
		return Checkpoint{}, err
	}
	signature, err := hex.DecodeString(c.Signature)
	if err != nil {
		return Checkpoint{}, err
	}
	cp := Checkpoint{Seq: c.Seq, At: time.UnixMicro(c.At).UTC(), Hash: c.Hash, PublicKey: key, Signature: signature}
	if cp.export() != c {
		// Capital letters mean the same in hex, and no hub writes them.
		return Checkpoint{}, errors.New("a checkpoint that is not as it was written")
	}
	return cp, nil
}

// MarshalJSON writes the checkpoint as an export does, to be kept elsewhere.
func (c Checkpoint) MarshalJSON() ([]byte, error) { return json.Marshal(c.export()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var e exportCheckpoint
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	cp, err := e.checkpoint()
	*c = cp
	return err
}

// maxLine bounds a line of an export; details are small.
const maxLine = 16 << 20

// VerifyExport checks an exported file without a hub. Trusted are the keys whose
// checkpoints count; with none, signatures prove consistency only. A report that
// is not OK numbers the first bad entry. Kept are checkpoints kept elsewhere.
func VerifyExport(r io.Reader, trusted []ed25519.PublicKey, kept ...Kept) (Report, error) {
	w := newWalk(trusted, kept)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := w.line(lines.Bytes()); err != nil {
			return w.done(err)
		}
	}
	return w.done(lines.Err())
}

// line checks one line of an export.
func (w *walk) line(data []byte) error {
	if !bytes.HasPrefix(data, checkpointStart) {
		var e exportEntry
		if err := readLine(data, &e); err != nil {
			return &fault{w.seq + 1, err.Error()}
		}
		return w.entry(stored{canonicalEntry: e.canonicalEntry, prev: e.Prev[:], hash: e.Hash[:]})
	}
	var c checkpointLine
	if err := readLine(data, &c); err != nil {
		return &fault{w.seq, err.Error()}
	}
	cp, err := c.Checkpoint.checkpoint()
	if err != nil {
		return &fault{w.seq, "an unreadable checkpoint"}
	}
	return w.checkpoint(cp)
}

// readLine accepts a line only if it is spelled exactly as Export spells it.
func readLine(data []byte, into any) error {
	if err := jsonv2.Unmarshal(data, into, jsonv2.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("unreadable line: %w", err)
	}
	if again, err := canonicalJSON(into); err != nil || !bytes.Equal(again, data) {
		return errors.New("the line is not as it was written")
	}
	return nil
}
