package update

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// fetchWait bounds connecting and headers; the tool's own deadline bounds all.
const fetchWait = 30 * time.Second

// maxRedirects is enough for a mirror, too few for a chase.
const maxRedirects = 5

// errTooLong: more came than may.
var errTooLong = errors.New("longer than allowed")

// fetch downloads the program and hashes it on the way.
func (u *Updater) fetch(ctx context.Context, address string, w io.Writer) (sum [32]byte, err error) {
	h := sha256.New()
	if err := u.opts.Download(ctx, address, maxProgram, io.MultiWriter(w, h)); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

// downloader fetches over HTTPS.
func downloader(check func(string) error) func(context.Context, string, int64, io.Writer) error {
	client := newClient(check)
	return func(ctx context.Context, address string, limit int64, w io.Writer) error {
		return download(ctx, client, address, limit, w)
	}
}

// newClient judges every redirect like the first address.
func newClient(check func(string) error) *http.Client {
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ResponseHeaderTimeout: fetchWait},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return check(r.URL.String())
		},
	}
}

func download(ctx context.Context, client *http.Client, address string, limit int64, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	n, err := io.Copy(w, io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return err
	}
	if n > limit {
		return errTooLong
	}
	return nil
}
