package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The names of the files.
const (
	SumsFile      = "SHA256SUMS"
	SignatureFile = SumsFile + ".sig"
	SSHFile       = SumsFile + ".sshsig"
)

// maxSums bounds a list: a release has some dozens of files.
const maxSums = 1 << 20

// Sum is one line of a list.
type Sum struct{ Name, SHA256 string }

var sumLine = regexp.MustCompile(`^([0-9a-f]{64}) [ *]([0-9A-Za-z][0-9A-Za-z._+~-]{0,200})$`)

// ParseSums reads a list. Names are plain: nothing leads out of the release's folder.
func ParseSums(text []byte) ([]Sum, error) {
	var sums []Sum
	for line := range strings.Lines(string(text)) {
		m := sumLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("line %d of the checksums is none", len(sums)+1)
		}
		if slices.ContainsFunc(sums, func(s Sum) bool { return s.Name == m[2] }) {
			return nil, fmt.Errorf("the checksums name %s twice", m[2])
		}
		sums = append(sums, Sum{Name: m[2], SHA256: m[1]})
	}
	if len(sums) == 0 {
		return nil, errors.New("the list of checksums is empty")
	}
	return sums, nil
}

// SumFolder makes the list of a folder's files, without earlier lists and signatures.
func SumFolder(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), SumsFile) {
			continue
		}
		sum, err := sumFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, e.Name())
	}
	_, err = ParseSums(list.Bytes())
	return list.Bytes(), err
}

func sumFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
