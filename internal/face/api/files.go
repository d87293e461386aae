package api

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"

	"parley.internal/internal/face/front"
	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// RegisterFiles adds pictures, PDFs and voice notes. They are for whoever may say something to an
// agent or hand it a task.
func RegisterFiles(a *API, s *files.Store) {
	r, own := fileRoutes{s}, access{Tag: "files"}
	put := own
	put.MaxBody = s.Limits().Size + 1
	add(a, own, rest.ListFiles, r.list)
	addRaw(a, put, rest.PutFile, r.put)
	addRaw(a, own, rest.GetFile, r.get)
	add(a, own, rest.RemoveFile, r.remove)
}

type fileRoutes struct{ files *files.Store }

// sayer refuses whoever may neither talk nor hand over tasks.
func sayer(who identity.Actor) error {
	if facetalk.MayTalk(who) || who.Scopes.Has(identity.TaskSubmit) {
		return nil
	}
	return front.Need(who, identity.Talk)
}

func viewFile(f files.File) rest.File {
	return rest.File{Digest: f.Digest, Name: f.Name, Type: f.Type, Size: f.Size, At: f.At}
}

func (r fileRoutes) list(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Files, error) {
	if err := sayer(who); err != nil {
		return rest.Files{}, err
	}
	list, used, err := r.files.List(ctx, who)
	limits := r.files.Limits()
	return rest.Files{Files: each(list, viewFile), Used: used, Quota: limits.Quota, Limit: limits.Size}, err
}

func (r fileRoutes) put(w http.ResponseWriter, req *http.Request, who identity.Actor) error {
	if err := sayer(who); err != nil {
		return err
	}
	f, err := r.files.Put(req.Context(), who, req.URL.Query().Get("name"), req.Body)
	if err != nil {
		return err
	}
	return wireJSON(w, http.StatusOK, viewFile(f))
}

func (r fileRoutes) remove(ctx context.Context, who identity.Actor, in *rest.FileDigest) (rest.None, error) {
	if err := sayer(who); err != nil {
		return rest.None{}, err
	}
	return rest.None{}, r.files.Drop(ctx, who, in.Digest)
}

func (r fileRoutes) get(w http.ResponseWriter, req *http.Request, who identity.Actor) error {
	if err := sayer(who); err != nil {
		return err
	}
	f, data, err := r.files.Get(req.Context(), who, req.PathValue("digest"))
	if err != nil {
		return err
	}
	showFile(w, req, f, data)
	return nil
}

// showFile gives a file back. Somebody else may have made it: a browser shows pictures as pictures,
// saves everything else, and runs nothing, whatever the bytes would be to somebody who guesses.
func showFile(w http.ResponseWriter, req *http.Request, f files.File, data []byte) {
	h := w.Header()
	h.Set("Content-Type", f.Type)
	h.Set("Content-Disposition", disposition(f))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// By its digest it is always the same, but who may see it can change.
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", fmt.Sprintf("%q", f.Digest))
	http.ServeContent(w, req, "", f.At, bytes.NewReader(data))
}

func disposition(f files.File) string {
	how := "attachment"
	if files.IsPicture(f.Type) {
		how = "inline"
	}
	return mime.FormatMediaType(how, map[string]string{"filename": f.Name})
}
