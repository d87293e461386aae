package tui

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley.internal/internal/fit"
	wire "parley.internal/protocol/agentfirst"
)

const (
	// roomForWords is what files leave of a message for the words around them.
	roomForWords = 64 << 10
	// maxFiles is how many files one message takes along.
	maxFiles = 20
)

// ErrNotText says that a file is no text.
var ErrNotText = errors.New("it is not a text file (UTF-8)")

// Attachment is a file that goes along with a message. A text file becomes a named
// block between fences, which the page and this chat show as a file again; a picture,
// a PDF or a voice note is put into the hub, and the message names it.
type Attachment struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Stored is the file in the hub; nil for text.
	Stored *wire.FileRef `json:"-"`
}

// Put brings a file that is no text into the hub.
type Put func(path string) (*wire.FileRef, error)

// Read reads a file that a message can carry beside the others.
func Read(path string, others []Attachment, put Put) (a Attachment, err error) {
	a.Name = fit.FileName(path)
	if len(others) >= maxFiles {
		return a, fmt.Errorf("%s was not attached: %d files are the most in one message", a.Name, maxFiles)
	}
	room := wire.MaxContent - roomForWords
	for _, o := range others {
		room -= len(o.Text)
	}
	a.Text, err = readText(path, max(0, room))
	if errors.Is(err, ErrNotText) && put != nil {
		a.Stored, err = put(path)
	}
	if err != nil {
		return a, fmt.Errorf("%s was not attached: %w", a.Name, err)
	}
	return a, nil
}

// readText reads at most room bytes; more is an error, and so is what is no text.
func readText(path string, room int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return "", errors.New("it is a folder")
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(room)+1))
	if err != nil {
		return "", err
	}
	if !begunAsText(raw) {
		return "", ErrNotText
	}
	if len(raw) > room {
		return "", fmt.Errorf("it is too large: there is room for %s", fileSize(room))
	}
	text := strings.TrimPrefix(string(raw), "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", ErrNotText
	}
	return text, nil
}

// begunAsText reports whether a file begins like text: large pictures are no text that is too long.
func begunAsText(raw []byte) bool {
	head := raw[:min(len(raw), 4096)]
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return false // some are nothing but letters, and still nothing to read
	}
	for cut := 0; cut < utf8.UTFMax && cut < len(head); cut++ { // a character may be cut at the end
		if utf8.Valid(head[:len(head)-cut]) {
			return !bytes.Contains(head, []byte{0})
		}
	}
	return len(head) == 0
}

// Stored are the files of the hub among those of a message.
func Stored(files []Attachment) (out []*wire.FileRef) {
	for _, f := range files {
		if f.Stored != nil {
			out = append(out, f.Stored)
		}
	}
	return out
}

// Compose makes one message of words and files. The form has no escapes: a fence
// is longer than any in its file, and a name cannot hold a quote.
func Compose(words string, files []Attachment) string {
	var parts []string
	if words != "" {
		parts = append(parts, words)
	}
	for _, f := range files {
		if f.Stored != nil {
			continue
		}
		fence := strings.Repeat("`", max(3, longestFence(f.Text)+1))
		parts = append(parts, fmt.Sprintf("Attached file \"%s\" (%d bytes):\n%s\n%s\n%s", fit.FileName(f.Name), len(f.Text), fence, f.Text, fence))
	}
	return strings.Join(parts, "\n\n")
}

func longestFence(text string) (longest int) {
	count := 0
	for i := range len(text) {
		if text[i] != '`' {
			count = 0
			continue
		}
		count++
		longest = max(longest, count)
	}
	return longest
}

var blockHead = regexp.MustCompile("(?m)^Attached file \"([^\"\n]+)\" \\((\\d{1,9}) bytes\\):\n(`{3,})\n")

// Fold shows a message with each file as one line. What is not exactly a block
// of Compose stays as it is.
func Fold(message string) string {
	var out strings.Builder
	for {
		head := blockHead.FindStringSubmatchIndex(message)
		if head == nil {
			return out.String() + message
		}
		fence, size := message[head[6]:head[7]], message[head[4]:head[5]]
		body, rest, closed := cutFence(message[head[1]:], fence)
		if n, err := strconv.Atoi(size); !closed || err != nil || n != len(body) {
			out.WriteString(message[:head[1]])
			message = message[head[1]:]
			continue
		}
		out.WriteString(message[:head[0]])
		fmt.Fprintf(&out, "[file: %s, %s]", message[head[2]:head[3]], fileSize(len(body)))
		message = rest
	}
}

// cutFence cuts a text at the line that is the fence and nothing else.
func cutFence(text, fence string) (body, rest string, found bool) {
	line := "\n" + fence
	for at := 0; ; at++ {
		next := strings.Index(text[at:], line)
		if next < 0 {
			return text, "", false
		}
		at += next
		rest := text[at+len(line):]
		if rest == "" || rest[0] == '\n' {
			return text[:at], rest, true
		}
	}
}

// fileSize is how people write a size.
func fileSize(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1000:
		return strconv.Itoa(n) + " bytes"
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// expand is a path as a shell would read it: with one's home for ~.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// paths are the files that a beginning of a path may mean; folders end in a slash.
func paths(begun string) (out []string) {
	dir, base := filepath.Split(begun)
	entries, err := os.ReadDir(cmp.Or(expand(dir), "."))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base) || base == "" && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := dir + e.Name()
		if e.IsDir() {
			path += string(filepath.Separator)
		}
		out = append(out, path)
	}
	return out
}
