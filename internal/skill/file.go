package skill

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// writeFile puts an approved skill where people can see it, with where it came from
// in its head. The store is what counts; the file is for reading. Nothing of its
// path comes from outside.
func (s *Skills) writeFile(ctx context.Context, i Item) error {
	if i.State != StateApproved || s.c.Dir == "" || i.File == "" {
		return nil
	}
	text, err := meeting.AnnotateReceived(i.Content, meeting.Received{
		From: i.Sender, At: mmp.Stamp(i.Received), OriginalHash: i.Hash, Version: mmp.ProtocolVersion,
	}, i.Provenance)
	if err != nil {
		return err
	}
	root, err := s.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(i.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ctx.Err() // written before, or another of the same name and second
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (s *Skills) root() (*os.Root, error) {
	if err := os.MkdirAll(s.c.Dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(s.c.Dir)
}

func (s *Skills) removeFile(i Item) error {
	if s.c.Dir == "" || i.File == "" {
		return nil
	}
	root, err := s.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.Remove(i.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
