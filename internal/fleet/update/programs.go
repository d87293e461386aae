package update

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// Binary is an endpoint program the hub can hand out.
type Binary = rest.Binary

// Upload is a program with its signature.
type Upload struct {
	Platform, Version string
	// Signature is base64 Ed25519 over [kenny.ReleaseMessage]; Key the public key.
	Signature, Key string
	Body           io.Reader
}

// MaxBinary bounds an endpoint program.
const MaxBinary = 256 << 20

// partSize is how a program is cut in the store.
const partSize = 1 << 20

// dropTime bounds the clean-up after an upload that came to nothing.
const dropTime = 10 * time.Second

// Program is an endpoint program this hub can hand out: a signed one of the store,
// or the one it runs itself.
type Program struct {
	Platform, Version, SHA256, Signature, Key string
	Size                                      int64
	Added                                     time.Time
	upload, path                              string
}

// ProgramList is some of them.
type ProgramList []Program

// Programs are the endpoint programs of a hub.
type Programs struct {
	d   ProgramDeps
	own struct {
		once sync.Once
		list ProgramList
	}
}

// ProgramDeps is what they are made from.
type ProgramDeps struct {
	DB    *store.DB
	Audit audit.Recorder
	// Own is the program this hub runs itself, for installers.
	Own OwnProgram
	// ReleaseKeys, if any, are the only ones whose binaries are taken.
	ReleaseKeys []ed25519.PublicKey
	// Report tells of what has to wait.
	Report func(what string, err error)
}

// NewPrograms makes them.
func NewPrograms(d ProgramDeps) *Programs { return &Programs{d: d} }

// For chooses the programs an install script of a family can use.
func (l ProgramList) For(shell Shell) ProgramList {
	var out ProgramList
	for _, p := range l {
		if windows := len(p.Platform) > 8 && p.Platform[:8] == "windows-"; windows == (shell == ShellPowerShell) {
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

// takes tells whether this hub hands out what a release key signed.
func (l *Programs) takes(key ed25519.PublicKey) bool {
	return len(l.d.ReleaseKeys) == 0 || slices.ContainsFunc(l.d.ReleaseKeys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

// Signed lists the signed programs, newest version first: those of the store, and what
// came with this hub and is not there.
func (l *Programs) Signed(ctx context.Context) (ProgramList, error) {
	var list ProgramList
	err := l.d.DB.Read(ctx, func(tx *store.Tx) error {
		list = nil
		return tx.Each(func(row *sql.Rows) error {
			var p Program
			var added int64
			err := row.Scan(&p.Platform, &p.Version, &p.SHA256, &p.Size, &p.Signature, &p.Key, &p.upload, &added)
			p.Added = store.Time(added)
			list = append(list, p)
			return err
		}, `SELECT platform, version, sha256, size, signature, key, upload, added_at FROM fleet_binaries`)
	})
	for _, own := range l.ownPrograms() {
		same := func(p Program) bool { return p.Platform == own.Platform && p.Version == own.Version }
		if own.Signature != "" && !slices.ContainsFunc(list, same) {
			list = append(list, own)
		}
	}
	slices.SortStableFunc(list, func(a, b Program) int { return kenny.CompareVersions(b.Version, a.Version) })
	return list, err
}

// Newest is one program per platform: the newest signed one, else the hub's own, else
// one that came with it.
func (l *Programs) Newest(ctx context.Context) (ProgramList, error) {
	all, err := l.Signed(ctx)
	if err != nil {
		return nil, err
	}
	var out ProgramList
	has := map[string]bool{}
	for _, p := range all {
		if !has[p.Platform] {
			has[p.Platform] = true
			out = append(out, p)
		}
	}
	for _, own := range l.ownPrograms() {
		if !has[own.Platform] {
			has[own.Platform] = true
			out = append(out, own)
		}
	}
	return out, nil
}

// Content is a program to send.
func (l *Programs) Content(p Program) Content {
	c := Content{Platform: p.Platform, Version: p.Version, SHA256: p.SHA256, Size: p.Size}
	if p.path == "" {
		c.WriteTo = func(ctx context.Context, w io.Writer) error { return l.writeParts(ctx, p, w) }
		return c
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
	return c
}

// writeParts sends a program of the store, one part at a time.
func (l *Programs) writeParts(ctx context.Context, p Program, w io.Writer) error {
	for n, sent := 0, int64(0); sent < p.Size; n++ {
		var part []byte
		err := l.d.DB.Read(ctx, func(tx *store.Tx) error {
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

// View is a program as lists show it.
func (p Program) View() Binary {
	return Binary{Platform: p.Platform, Version: p.Version, SHA256: p.SHA256, Size: p.Size, Key: p.Key, Added: p.Added}
}

// takeParts stores a program as it comes and gives its hash.
func (l *Programs) takeParts(ctx context.Context, p *Program, body io.Reader) (total [sha256.Size]byte, err error) {
	sum := sha256.New()
	for n := 0; ; n++ {
		part := make([]byte, partSize)
		got, err := io.ReadFull(body, part)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return total, err
		}
		last := err != nil
		if p.Size += int64(got); p.Size > MaxBinary {
			return total, fault.Errorf(fault.TooLarge, "a program has at most %d bytes", MaxBinary)
		}
		if got > 0 {
			_, _ = sum.Write(part[:got]) // a hash never fails
			err = l.d.DB.Write(ctx, func(tx *store.Tx) error {
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
	if p.Size == 0 {
		return total, fault.Errorf(fault.BadArgs, "the program is empty")
	}
	sum.Sum(total[:0])
	return total, nil
}

func (l *Programs) publishBinary(ctx context.Context, by string, p Program) error {
	return l.d.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM fleet_binary_parts WHERE upload IN (SELECT upload FROM fleet_binaries WHERE platform = ? AND version = ?)`, p.Platform, p.Version); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO fleet_binaries (platform, version, sha256, size, signature, key, upload, added_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (platform, version) DO UPDATE SET sha256 = excluded.sha256, size = excluded.size, signature = excluded.signature, key = excluded.key,
				upload = excluded.upload, added_at = excluded.added_at`,
			p.Platform, p.Version, p.SHA256, p.Size, p.Signature, p.Key, p.upload, store.Micros(p.Added))
		if err != nil {
			return err
		}
		return l.d.Audit.AppendTx(tx, audit.Entry{
			Actor: by, Action: audit.FleetBinaryAdded, Target: p.Platform, Digest: p.SHA256, Detail: map[string]any{"version": p.Version, "key": p.Key},
		})
	})
}

// dropParts forgets an upload that came to nothing.
func (l *Programs) dropParts(upload string) {
	ctx, cancel := context.WithTimeout(context.Background(), dropTime)
	defer cancel()
	err := l.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM fleet_binary_parts WHERE upload = ?`, upload)
		return err
	})
	l.d.Report("a refused program is still in the store", err)
}

// OwnProgram is the endpoint program on this hub's disk: the one it runs itself.
type OwnProgram struct {
	Platform, Version, Path string
}

// Add takes a signed program in. It is stored in parts and shows up only once
// its signature was verified.
func (l *Programs) Add(ctx context.Context, by string, up Upload) (Binary, error) {
	if !platformName.MatchString(up.Platform) || !versionText.MatchString(up.Version) {
		return Binary{}, fault.Errorf(fault.BadArgs, "a binary needs a platform such as linux-amd64 and a version")
	}
	key, err := kenny.ParsePublicKey(up.Key)
	if err != nil {
		return Binary{}, fault.Errorf(fault.BadArgs, "the release key: %w", err)
	}
	if !l.takes(key) {
		return Binary{}, fault.Errorf(fault.Forbidden, "this hub does not trust that release key")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(up.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return Binary{}, fault.Errorf(fault.BadArgs, "the signature is not base64 of 64 bytes")
	}
	p := Program{Platform: up.Platform, Version: up.Version, Signature: up.Signature, Key: up.Key, upload: uuid.NewString(), Added: time.Now()}
	sum, err := l.takeParts(ctx, &p, up.Body)
	if err != nil {
		l.dropParts(p.upload)
		return Binary{}, err
	}
	p.SHA256 = hex.EncodeToString(sum[:])
	if !ed25519.Verify(key, kenny.ReleaseMessage(p.Version, p.Platform, sum), signature) {
		l.dropParts(p.upload)
		return Binary{}, fault.Errorf(fault.BadArgs, "the signature does not fit this program, version and platform")
	}
	return p.View(), l.publishBinary(ctx, by, p)
}

// Choose finds the newest program for a platform; empty is the only one there is, or
// the hub's own.
func (l *Programs) Choose(ctx context.Context, platform string) (Program, error) {
	programs, err := l.Newest(ctx)
	if err != nil {
		return Program{}, fault.Errorf(fault.Internal, "%w", err)
	}
	if platform == "" {
		platform = l.d.Own.Platform
		if len(programs) == 1 {
			platform = programs[0].Platform
		}
	}
	for _, p := range programs {
		if p.Platform == platform {
			return p, nil
		}
	}
	return Program{}, fault.Errorf(fault.Unavailable, "this hub has no endpoint program for %q", fault.Quotable(platform))
}

// SignedFor chooses the signed program of a platform: of a version, or the newest.
func (l *Programs) SignedFor(ctx context.Context, platform, version string) (Binary, error) {
	list, err := l.Signed(ctx)
	if err != nil {
		return Binary{}, fault.Errorf(fault.Internal, "%w", err)
	}
	for _, p := range list {
		if p.Platform == platform && (version == "" || p.Version == version) {
			return p.View(), nil
		}
	}
	return Binary{}, fault.Errorf(fault.Unavailable, "this hub has no signed program for %s", platform)
}

// Version is the version asked for if there is a signed program of it, or the newest.
func (l *Programs) Version(ctx context.Context, asked string) (string, error) {
	list, err := l.Signed(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(p Program) bool { return asked == "" || p.Version == asked })
	if i < 0 {
		return "", fault.Errorf(fault.Unavailable, "this hub has no signed program of that version")
	}
	return list[i].Version, nil
}
