package release

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is what was found of one file of a release.
type File struct {
	Name  string `json:"name"`
	State State  `json:"state"`
}

// State is how a file compares with the signed list.
type State string

// The states. A release may be fetched in part: what is not there is only told.
const (
	Same    State = "same"
	Other   State = "other"
	Missing State = "missing"
)

// Verify compares the files of a folder with its list of checksums, once one of the keys
// is found to have signed that. No file is looked at before.
func Verify(folder string, keys []ed25519.PublicKey) ([]File, error) {
	sums, err := readSigned(folder, keys)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(sums))
	for _, s := range sums {
		got, err := sumFile(filepath.Join(folder, s.Name))
		switch {
		case os.IsNotExist(err):
			files = append(files, File{s.Name, Missing})
		case err != nil:
			return nil, err
		case got != s.SHA256:
			files = append(files, File{s.Name, Other})
		default:
			files = append(files, File{s.Name, Same})
		}
	}
	return files, nil
}

// Expect compares one file with a folder's signed list.
func Expect(folder, name string, keys []ed25519.PublicKey) error {
	files, err := Verify(folder, keys)
	if err != nil {
		return err
	}
	for _, f := range files {
		switch {
		case f.Name != name:
		case f.State == Same:
			return nil
		default:
			return fmt.Errorf("%s is not the file that was signed (%s)", name, f.State)
		}
	}
	return fmt.Errorf("the signed list does not name %s", name)
}

func readSigned(folder string, keys []ed25519.PublicKey) ([]Sum, error) {
	list, err := readBounded(filepath.Join(folder, SumsFile))
	if err != nil {
		return nil, err
	}
	signature, err := readBounded(filepath.Join(folder, SignatureFile))
	if err != nil {
		return nil, err
	}
	if err := verifySignature(list, signature, keys); err != nil {
		return nil, err
	}
	return ParseSums(list)
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(io.LimitReader(file, maxSums))
}
