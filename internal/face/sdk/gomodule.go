package sdk

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// goPath is the module's path. No registry can give it to anybody: .internal is
// reserved for names that are not public.
const goPath = "parley.internal"

// goMod is the module's go.mod: what client/ and protocol/ need of the hub's own.
//
//go:embed gomod.txt
var goMod []byte

// goModule is the Go SDK as a module proxy hands it out, by path below /sdk/go/.
func goModule(sources fs.FS, hub string) (map[string][]byte, error) {
	files, err := goFiles(sources)
	if err != nil {
		return nil, err
	}
	version := goVersion(hub, files)
	var packed bytes.Buffer
	list := make([]zip.File, len(files))
	for i, f := range files {
		list[i] = f
	}
	if err := zip.Create(&packed, module.Version{Path: goPath, Version: version}, list); err != nil {
		return nil, err
	}
	info, err := json.Marshal(map[string]string{"Version": version})
	if err != nil {
		return nil, err
	}
	at := goPath + "/@v/"
	return map[string][]byte{
		goPath + "/@latest": info, at + "list": []byte(version + "\n"),
		at + version + ".info": info, at + version + ".mod": goMod, at + version + ".zip": packed.Bytes(),
	}, nil
}

// goFiles are the module's files, in order.
func goFiles(sources fs.FS) (files []file, err error) {
	for _, top := range []string{"client", "protocol"} {
		err = fs.WalkDir(sources, top, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && strings.HasSuffix(name, "test"):
				return fs.SkipDir // a room in memory, for tests: it is a whole hub
			case entry.IsDir() || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			data, err := fs.ReadFile(sources, name)
			files = append(files, file{name, data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	license, err := fs.ReadFile(sources, "LICENSE")
	return append(files, file{"LICENSE", license}, file{"go.mod", goMod}), err
}

// A file is one of a module's zip.

// Path is where it stands in the module.
func (f file) Path() string { return f.name }

// Lstat says that it is an ordinary file.
func (f file) Lstat() (os.FileInfo, error) { return f, nil }

// Open reads it.
func (f file) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.data)), nil }

// Name is its last part.
func (f file) Name() string { return path.Base(f.name) }

// Size is its length.
func (f file) Size() int64 { return int64(len(f.data)) }

// Mode lets everybody read it.
func (f file) Mode() fs.FileMode { return 0o644 }

// ModTime is always the same, so that the same sources make the same zip.
func (f file) ModTime() time.Time { return time.Time{} }

// IsDir is false.
func (f file) IsDir() bool { return false }

// Sys has nothing to add.
func (f file) Sys() any { return nil }
