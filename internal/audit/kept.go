package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kept are checkpoints that were kept outside the database, and where they were.
type Kept struct {
	Where       string
	Checkpoints []Checkpoint
}

// Ends is the newest of the checkpoints and the one that signs the most: enough to
// tell at once whether the trail was cut since.
func (k Kept) Ends() Kept {
	if len(k.Checkpoints) == 0 {
		return k
	}
	newest, highest := k.Checkpoints[0], k.Checkpoints[0]
	for _, cp := range k.Checkpoints {
		if !cp.At.Before(newest.At) {
			newest = cp
		}
		if cp.Seq > highest.Seq {
			highest = cp
		}
	}
	ends := Kept{Where: k.Where, Checkpoints: []Checkpoint{newest}}
	if highest.Hash != newest.Hash {
		ends.Checkpoints = append(ends.Checkpoints, highest)
	}
	return ends
}

// Line is the checkpoint as an export and a file of checkpoints have it, without a
// line end.
func (c Checkpoint) Line() ([]byte, error) { return canonicalJSON(checkpointLine{c.export()}) }

// maxKept bounds what is read as checkpoints: a year of a busy hub's are a hundredth.
const maxKept = 1 << 30

// ReadCheckpoints finds checkpoints in whatever of ours holds them: a file of
// checkpoints, the answer of /api/audit/checkpoints or of the command, an export
// with its entries. Lines that cannot be read are counted, not fatal: the last line
// of a file may have been cut by a loss of power.
func ReadCheckpoints(r io.Reader) (found []Checkpoint, unreadable int, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKept))
	if err != nil {
		return nil, 0, err
	}
	if len(data) == maxKept {
		return nil, 0, fmt.Errorf("%w: too large for a file of checkpoints", ErrInvalid)
	}
	if whole, err := inDocument(data); err == nil {
		return whole, 0, nil
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		more, err := inDocument(line)
		if err != nil {
			unreadable++
			continue
		}
		found = append(found, more...)
	}
	return found, unreadable, nil
}

// inDocument reads one JSON text: a checkpoint, a list of them, or one of the
// objects that hold either. An entry of the trail holds none.
func inDocument(data []byte) ([]Checkpoint, error) {
	var list []Checkpoint
	if json.Unmarshal(data, &list) == nil {
		return list, check(list)
	}
	var held struct {
		Checkpoint  *Checkpoint  `json:"checkpoint"`
		Checkpoints []Checkpoint `json:"checkpoints"`
		Signature   string       `json:"signature"`
		Action      string       `json:"action"`
	}
	if err := json.Unmarshal(data, &held); err != nil {
		return nil, err
	}
	switch {
	case held.Checkpoint != nil:
		list = []Checkpoint{*held.Checkpoint}
	case held.Checkpoints != nil:
		list = held.Checkpoints
	case held.Signature != "":
		list = make([]Checkpoint, 1)
		if err := json.Unmarshal(data, &list[0]); err != nil {
			return nil, err
		}
	case held.Action == "":
		return nil, errNoCheckpoint
	}
	return list, check(list)
}

var errNoCheckpoint = errors.New("no checkpoint")

func check(list []Checkpoint) error {
	for _, cp := range list {
		if cp.Seq < 1 || len(cp.Signature) == 0 {
			return errNoCheckpoint
		}
	}
	return nil
}
