package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// artifactsDir is where in the workspace tasks leave what they hand over, each in
// a folder of its id.
const artifactsDir = "artifacts"

// checkArtifacts refuses paths that lead out of the workspace.
func checkArtifacts(dir string, list []viber.Artifact) error {
	for i, a := range list {
		if a.Ref == "" || a.IsURL() || a.FileDigest() != "" {
			continue
		}
		if !inside(dir, a.Ref) {
			return &viber.Violation{
				Reason: viber.ReasonBadArtifact, Field: fmt.Sprintf("/artifacts/%d", i), Message: "an artifact's ref is an http or https address, or a path of the workspace",
			}
		}
	}
	return nil
}

// inside reports whether a path lies in a folder once all links are followed. What
// does not exist is judged by the nearest folder that does.
func inside(folder, name string) bool {
	base, err := filepath.EvalSymlinks(folder)
	if err != nil || folder == "" {
		return false
	}
	full := filepath.FromSlash(name)
	if !filepath.IsAbs(full) {
		full = filepath.Join(base, full)
	}
	full = filepath.Clean(full)
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(full)
		if err == nil {
			rel, err := filepath.Rel(base, filepath.Join(real, rest))
			return err == nil && filepath.IsLocal(rel)
		}
		if _, err := os.Lstat(full); err == nil || filepath.Dir(full) == full {
			return false // a link that leads nowhere
		}
		rest, full = filepath.Join(filepath.Base(full), rest), filepath.Dir(full)
	}
}

// holdFiles keeps the files of the hub that a submit hands over, for its task: in the transaction
// that makes the task, so that it never waits for one that is gone.
func (w *Work) holdFiles(tx *store.Tx, r *record) error {
	var digests []string
	for _, a := range r.spec.Submit.Artifacts {
		if digest := a.FileDigest(); digest != "" {
			digests = append(digests, digest)
		}
	}
	if len(digests) == 0 {
		return nil
	}
	if w.d.Files == nil {
		return files.ErrNotFound
	}
	held, err := w.d.Files.HoldTx(tx, r.spec.By, files.Task(r.id), digests...)
	r.spec.Files = nil
	for _, f := range held {
		r.spec.Files = append(r.spec.Files, model.File{Digest: f.Digest, Name: f.Name, Type: f.Type, Size: f.Size})
	}
	return err
}

// badFile says what is wrong with a file of a submit in the protocol's words.
func badFile(err error) error {
	if errors.Is(err, files.ErrNotFound) || errors.Is(err, files.ErrTooMany) {
		return &viber.Violation{Reason: viber.ReasonBadArtifact, Field: "/artifacts", Message: err.Error()}
	}
	return err
}

// showing puts the task's files before its model. Notices and the trail hear of each once.
func (t *task) showing() *brain.Showing {
	if t.w.d.Files == nil || len(t.spec.Files) == 0 {
		return nil
	}
	named := t.model
	return &brain.Showing{
		Model: named,
		Bytes: func(ctx context.Context, digest string) ([]byte, error) {
			return t.w.d.Files.Bytes(ctx, files.Task(t.id), digest)
		},
		Shown: func(f model.File) {
			t.post(func() {
				t.w.note(t, audit.FileShown, "", 0, map[string]any{"digest": f.Digest, "name": f.Name, "type": f.Type, "bytes": f.Size, "model": named.Ref.String()})
			})
		},
		Withheld: func(f model.File, why string) {
			t.post(func() {
				if !t.over {
					t.progress(valid(fmt.Sprintf("%s was not shown to %s: %s", f.Name, t.agentName(), why)))
				}
			})
		},
	}
}

// artifacts lists what the task left in its folder.
func (t *task) artifacts() []viber.Artifact {
	root, err := openArtifacts(t.w.workspace(t.principal, t.agent), t.id)
	if err != nil {
		return nil
	}
	defer root.Close()
	var list []viber.Artifact
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || len(list) >= viber.MaxArtifacts {
			return fs.SkipAll
		}
		if d.Type().IsRegular() {
			list = append(list, viber.Artifact{
				ID: valid(name), Title: valid(path.Base(name)), Type: viber.ArtifactFile, Ref: valid(path.Join(artifactsDir, t.id, name)),
			})
		}
		return nil
	})
	return list
}

// openArtifacts opens what a task handed over. No link in it leads anywhere else.
func openArtifacts(dir, task string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(path.Join(artifactsDir, task))
}

// Artifact opens a file of a task's artifacts. See [API].
func (w *Work) Artifact(ctx context.Context, who identity.Actor, id, name string) (*ArtifactFile, error) {
	r, err := w.find(ctx, who, cleanID(id))
	if err != nil {
		return nil, err
	}
	root, err := openArtifacts(w.handedOver(r), r.id)
	if err != nil {
		return nil, ErrNoArtifact
	}
	defer root.Close()
	if !fs.ValidPath(name) || name == "." {
		return nil, ErrNoArtifact
	}
	// Without following a pipe or a device: opening one could wait for ever.
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, ErrNoArtifact
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, errors.Join(ErrNoArtifact, err)
	}
	return &ArtifactFile{ReadSeekCloser: f, Name: path.Base(name), Size: info.Size(), Modified: info.ModTime()}, nil
}

// handedOver is the folder that a task's artifacts are in.
func (w *Work) handedOver(r record) string {
	whose, named := workspace.Person(r.principal), ""
	if !r.spec.OwnFolder {
		whose = workspace.Everybody()
	}
	if agent, err := w.d.Agents.Get(r.agent); err == nil {
		named = agent.Workspace
	}
	return w.d.Workspace(whose, named)
}
