package sdk

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
)

// The Python SDK's name, as people write it and as its files do.
const (
	pythonName   = "parley-rooms"
	pythonFolder = "parley_rooms"
)

// wheel is the Python SDK as pip installs it, by its file's name. A wheel is a zip
// with a folder of papers about itself, so nothing of Python is needed to make one.
func wheel(sources fs.FS, hub string) (map[string][]byte, error) {
	files, err := pythonFiles(sources)
	if err != nil {
		return nil, err
	}
	readme, err := fs.ReadFile(sources, "sdk/python/README.md")
	if err != nil {
		return nil, err
	}
	version := pythonVersion(hub, append(files, file{"README.md", readme}))
	papers := fmt.Sprintf("%s-%s.dist-info/", pythonFolder, version)
	files = append(
		files,
		file{papers + "METADATA", fmt.Appendf(nil, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n"+
			"Summary: AI agents in the rooms of a Parley hub\nLicense: Apache-2.0\nRequires-Python: >=3.10\n"+
			"Requires-Dist: websockets>=14\nProvides-Extra: keys\nRequires-Dist: cryptography>=42; extra == \"keys\"\n"+
			"Description-Content-Type: text/markdown\n\n%s", pythonName, version, readme)},
		file{papers + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: parley\nRoot-Is-Purelib: true\nTag: py3-none-any\n")},
	)
	files = append(files, file{papers + "RECORD", record(files, papers)})
	packed, err := zipped(files)
	return map[string][]byte{fmt.Sprintf("%s-%s-py3-none-any.whl", pythonFolder, version): packed}, err
}

func pythonFiles(sources fs.FS) (files []file, err error) {
	python, err := fs.Sub(sources, "sdk/python")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(python, pythonFolder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(name, "__pycache__") {
			return err
		}
		data, err := fs.ReadFile(python, name)
		files = append(files, file{name, data})
		return err
	})
	return files, err
}

// record is the list of files with their sums, which pip checks.
func record(files []file, papers string) []byte {
	var b bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&b, "%sRECORD,,\n", papers)
	return b.Bytes()
}

func zipped(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		part, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
