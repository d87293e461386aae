package talk

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"parley.internal/internal/talk/memory"
	wire "parley.internal/protocol/agentfirst"
)

// export sends a conversation in pieces, no faster than they are read.
func (r *request) export() error {
	id, err := handle(r.msg.GetExport().GetFilePath())
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(&pieces{r}, wire.JSONLChunk)
	if err := r.c.face.d.Talk.Export(r.c.ctx, r.who, id, w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	r.jsonl(nil, true)
	return nil
}

func (r *request) jsonl(data []byte, last bool) {
	r.send(&wire.ServerMessage{Message: &wire.ServerMessage_Jsonl{Jsonl: &wire.Jsonl{Data: data, Last: last}}}, "", false)
}

// pieces sends what is written as messages of a bounded size.
type pieces struct{ r *request }

func (p *pieces) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += wire.JSONLChunk {
		if err := p.r.c.room(p.r.c.ctx); err != nil {
			return at, err
		}
		p.r.jsonl(b[at:min(len(b), at+wire.JSONLChunk)], false)
	}
	return len(b), nil
}

// maxUploads is how many imports one connection may have open.
const maxUploads = 4

// upload is an import on its way. It is kept in a file until it is whole: a
// store must not wait for a slow client.
type upload struct {
	file *os.File
	size int64
}

func newUpload() (*upload, error) {
	f, err := os.CreateTemp("", "parley-import-*")
	if err != nil {
		return nil, err
	}
	return &upload{file: f}, nil
}

func (u *upload) discard() {
	_ = u.file.Close()
	_ = os.Remove(u.file.Name())
}

// importPiece takes one piece of an import; with the last one the import is done.
func (r *request) importPiece() error {
	in := r.msg.GetImport()
	u, err := r.c.uploadOf(r.id)
	if err != nil {
		return err
	}
	if u.size += int64(len(in.GetData())); u.size > r.c.face.limits.Import {
		r.c.dropUpload(r.id)
		return fmt.Errorf("%w: an import has at most %d bytes", errTooLarge, r.c.face.limits.Import)
	}
	if _, err := u.file.Write(in.GetData()); err != nil {
		r.c.dropUpload(r.id)
		return err
	}
	if !in.GetLast() {
		return nil
	}
	r.c.takeUpload(r.id)
	r.c.inProgress(r, func(r *request) error { return r.importAll(u, in) }, r.c.work.Go)
	return nil
}

func (r *request) importAll(u *upload, in *wire.Import) error {
	defer u.discard()
	if _, err := u.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	done, err := r.c.face.d.Talk.Import(r.c.ctx, r.who, bufio.NewReader(u.file), memory.ImportOptions{
		Agent: in.GetAgent(), Sender: in.GetSender(), Thread: in.GetThread(), Append: in.GetAppend(),
	})
	if err != nil {
		return err
	}
	r.send(&wire.ServerMessage{Message: &wire.ServerMessage_ImportResult{ImportResult: &wire.ImportResult{
		Messages: small(done.Messages), Archives: small(done.Archives), Skipped: small(done.Skipped), FilePath: wire.Handle(done.ID),
	}}}, "", false)
	return nil
}

// uploadOf finds the upload of a request, or begins it.
func (c *conn) uploadOf(id uint64) (*upload, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.uploads[id]; u != nil {
		return u, nil
	}
	if len(c.uploads) >= maxUploads || c.ctx.Err() != nil {
		return nil, errManyOpen
	}
	u, err := newUpload()
	if err == nil {
		c.uploads[id] = u
	}
	return u, err
}

func (c *conn) takeUpload(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.uploads, id)
}

func (c *conn) dropUpload(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.uploads[id]; u != nil {
		u.discard()
		delete(c.uploads, id)
	}
}
