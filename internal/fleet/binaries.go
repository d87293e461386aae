package fleet

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley/internal/audit"
	"parley/internal/identity"
	"parley/internal/store"
	"parley/protocol/kenny"
)

// Binary is an endpoint program the hub can hand out.
type Binary struct {
	Platform string    `json:"platform" doc:"os-arch, such as linux-amd64"`
	Version  string    `json:"version"`
	SHA256   string    `json:"sha256"`
	Size     int64     `json:"size"`
	Key      string    `json:"public_key" doc:"the release key that signed it"`
	Added    time.Time `json:"added_at"`
}

// BinaryUpload is a program with its signature.
type BinaryUpload struct {
	Platform, Version string
	// Signature is base64 Ed25519 over [kenny.ReleaseMessage]; Key the public key.
	Signature, Key string
	Body           io.Reader
}

// MaxBinary bounds an endpoint program.
const MaxBinary = 256 << 20

// partSize is how a program is cut in the store.
const partSize = 1 << 20

// program is an endpoint program this hub can hand out: a signed one of the store,
// or the one it runs itself.
type program struct {
	platform, version, sha256, signature, upload, path string
	size                                               int64
	key                                                string
	added                                              time.Time
}

type programList []program

// of chooses the programs an install script of a family can use.
func (l programList) of(shell Shell) programList {
	var out programList
	for _, p := range l {
		if windows := len(p.platform) > 8 && p.platform[:8] == "windows-"; windows == (shell == ShellPowerShell) {
			out = append(out, p)
		}
	}
	return out
}

// Content is a program to send.
type Content struct {
	Platform, Version, SHA256 string
	Size                      int64
	// WriteTo sends it; it may be called once.
	WriteTo func(ctx context.Context, w io.Writer) error
}

var platformName = regexp.MustCompile(`^(linux|darwin|windows)-[a-z0-9]{2,16}$`)

var versionText = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)

// binaries lists the signed programs of the store, newest version first.
func (f *Fleet) binaries(ctx context.Context) (programList, error) {
	var list programList
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		list = nil
		return tx.Each(func(row *sql.Rows) error {
			var p program
			var added int64
			err := row.Scan(&p.platform, &p.version, &p.sha256, &p.size, &p.signature, &p.key, &p.upload, &added)
			p.added = store.Time(added)
			list = append(list, p)
			return err
		}, `SELECT platform, version, sha256, size, signature, key, upload, added_at FROM fleet_binaries`)
	})
	slices.SortStableFunc(list, func(a, b program) int { return kenny.CompareVersions(b.version, a.version) })
	return list, err
}

// programs is one program per platform: the newest signed one, else the hub's own.
func (f *Fleet) programs(ctx context.Context) (programList, error) {
	all, err := f.binaries(ctx)
	if err != nil {
		return nil, err
	}
	var out programList
	has := map[string]bool{}
	for _, p := range all {
		if !has[p.platform] {
			has[p.platform] = true
			out = append(out, p)
		}
	}
	if own := f.ownProgram(); own != nil && !has[own.platform] {
		out = append(out, *own)
	}
	return out, nil
}

// ownProgram is the program this hub runs: it is an endpoint too.
func (f *Fleet) ownProgram() *program {
	f.own.once.Do(func() {
		o := f.d.Own
		file, err := os.Open(o.Path)
		if o.Path == "" || err != nil {
			return
		}
		defer func() { _ = file.Close() }() // only read
		sum := sha256.New()
		n, err := io.Copy(sum, file)
		if err != nil {
			return
		}
		f.own.program = &program{platform: o.Platform, version: o.Version, sha256: hex.EncodeToString(sum.Sum(nil)), size: n, path: o.Path}
	})
	return f.own.program
}

// ownOnce reads the hub's own program when somebody first wants it.
type ownOnce struct {
	once    sync.Once
	program *program
}

func (f *Fleet) content(_ context.Context, p program) (Content, error) {
	c := Content{Platform: p.platform, Version: p.version, SHA256: p.sha256, Size: p.size}
	if p.path == "" {
		c.WriteTo = func(ctx context.Context, w io.Writer) error { return f.writeParts(ctx, p, w) }
		return c, nil
	}
	c.WriteTo = func(_ context.Context, w io.Writer) error {
		file, err := os.Open(p.path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.Copy(w, file)
		return err
	}
	return c, nil
}

// writeParts sends a program of the store, one part at a time.
func (f *Fleet) writeParts(ctx context.Context, p program, w io.Writer) error {
	for n, sent := 0, int64(0); sent < p.size; n++ {
		var part []byte
		err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT data FROM fleet_binary_parts WHERE upload = ? AND n = ?`, p.upload, n).Scan(&part)
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		sent += int64(len(part))
	}
	return nil
}

// Binaries lists the signed programs.
func (f *Fleet) Binaries(ctx context.Context, who identity.Actor) ([]Binary, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return nil, err
	}
	list, err := f.binaries(ctx)
	out := make([]Binary, len(list))
	for i, p := range list {
		out[i] = p.view()
	}
	return out, err
}

func (p program) view() Binary {
	return Binary{Platform: p.platform, Version: p.version, SHA256: p.sha256, Size: p.size, Key: p.key, Added: p.added}
}

// AddBinary takes a signed program in. It is stored in parts and shows up only once
// its signature was verified.
func (f *Fleet) AddBinary(ctx context.Context, who identity.Actor, up BinaryUpload) (Binary, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return Binary{}, err
	}
	if !platformName.MatchString(up.Platform) || !versionText.MatchString(up.Version) {
		return Binary{}, errorf(BadArgs, "a binary needs a platform such as linux-amd64 and a version")
	}
	key, err := kenny.ParsePublicKey(up.Key)
	if err != nil {
		return Binary{}, errorf(BadArgs, "the release key: %w", err)
	}
	if len(f.d.ReleaseKeys) > 0 && !slices.ContainsFunc(f.d.ReleaseKeys, func(k ed25519.PublicKey) bool { return k.Equal(key) }) {
		return Binary{}, errorf(Forbidden, "this hub does not trust that release key")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(up.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return Binary{}, errorf(BadArgs, "the signature is not base64 of 64 bytes")
	}
	p := program{platform: up.Platform, version: up.Version, signature: up.Signature, key: up.Key, upload: uuid.NewString(), added: time.Now()}
	sum, err := f.takeParts(ctx, &p, up.Body)
	if err != nil {
		f.dropParts(p.upload)
		return Binary{}, err
	}
	p.sha256 = hex.EncodeToString(sum[:])
	if !ed25519.Verify(key, kenny.ReleaseMessage(p.version, p.platform, sum), signature) {
		f.dropParts(p.upload)
		return Binary{}, errorf(BadArgs, "the signature does not fit this program, version and platform")
	}
	return p.view(), f.publishBinary(ctx, who, p)
}

// takeParts stores a program as it comes and gives its hash.
func (f *Fleet) takeParts(ctx context.Context, p *program, body io.Reader) (total [sha256.Size]byte, err error) {
	sum := sha256.New()
	for n := 0; ; n++ {
		part := make([]byte, partSize)
		got, err := io.ReadFull(body, part)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return total, err
		}
		last := err != nil
		if p.size += int64(got); p.size > MaxBinary {
			return total, errorf(TooLarge, "a program has at most %d bytes", MaxBinary)
		}
		if got > 0 {
			_, _ = sum.Write(part[:got]) // a hash never fails
			err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO fleet_binary_parts (upload, n, data) VALUES (?, ?, ?)`, p.upload, n, part[:got])
				return err
			})
			if err != nil {
				return total, err
			}
		}
		if last {
			break
		}
	}
	if p.size == 0 {
		return total, errorf(BadArgs, "the program is empty")
	}
	sum.Sum(total[:0])
	return total, nil
}

func (f *Fleet) publishBinary(ctx context.Context, who identity.Actor, p program) error {
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM fleet_binary_parts WHERE upload IN (SELECT upload FROM fleet_binaries WHERE platform = ? AND version = ?)`, p.platform, p.version); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO fleet_binaries (platform, version, sha256, size, signature, key, upload, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (platform, version) DO UPDATE SET sha256 = excluded.sha256, size = excluded.size, signature = excluded.signature, key = excluded.key,
				upload = excluded.upload, added_at = excluded.added_at`,
			p.platform, p.version, p.sha256, p.size, p.signature, p.key, p.upload, store.Micros(p.added))
		if err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{
			Actor: who.String(), Action: audit.FleetBinaryAdded, Target: p.platform, Digest: p.sha256, Detail: map[string]any{"version": p.version, "key": p.key},
		})
	})
}

// dropParts forgets an upload that came to nothing.
func (f *Fleet) dropParts(upload string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM fleet_binary_parts WHERE upload = ?`, upload)
		return err
	})
	f.report("a refused program is still in the store", err)
}

func binaryOf(detail string) (b Binary, err error) {
	err = json.Unmarshal([]byte(detail), &b)
	return b, err
}

func callerOf(detail string) (who identity.Actor, err error) {
	err = json.Unmarshal([]byte(detail), &who)
	return who, err
}
