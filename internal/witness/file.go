package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"parley.internal/internal/audit"
	"parley.internal/internal/durable"
)

// File is a file of checkpoints, one JSON line each. Nothing here ever takes a line away.
type File string

// Append adds checkpoints and returns once they are on disk. The file is its owner's only.
func (f File) Append(_ context.Context, cps []audit.Checkpoint) error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(string(f), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text, err := lines(file, cps)
	if err == nil {
		_, err = file.Write(text)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return durable.Folder(filepath.Dir(string(f)))
}

// lines are the checkpoints as they are written. They begin on a line of their own
// also behind one that a loss of power cut.
func lines(file *os.File, cps []audit.Checkpoint) ([]byte, error) {
	var text []byte
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if last := make([]byte, 1); end > 0 {
		if _, err := file.ReadAt(last, end-1); err != nil {
			return nil, err
		}
		if last[0] != '\n' {
			text = append(text, '\n')
		}
	}
	for _, cp := range cps {
		line, err := cp.Line()
		if err != nil {
			return nil, err
		}
		text = append(append(text, line...), '\n')
	}
	return text, nil
}

// Read gives what the file holds. One that is not there holds nothing.
func (f File) Read() (audit.Kept, error) {
	kept := audit.Kept{Where: string(f)}
	file, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, err
	}
	defer func() { _ = file.Close() }()
	kept.Checkpoints, _, err = audit.ReadCheckpoints(file)
	if err != nil {
		return kept, fmt.Errorf("%s: %w", f, err)
	}
	return kept, nil
}
