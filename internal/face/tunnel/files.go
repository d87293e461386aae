package tunnel

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley.internal/internal/face/front"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/update"
)

// serveInstall hands out an install script, once. Whoever only looks, as programs do
// that show people what a link leads to, does not use it up.
func (f *Face) serveInstall(w http.ResponseWriter, r *http.Request) {
	nonce, shell := r.PathValue("nonce"), update.ShellPOSIX
	if name, ok := strings.CutSuffix(nonce, ".ps1"); ok {
		nonce, shell = name, update.ShellPowerShell
	}
	if onlyLooks(r) {
		f.showInstall(w, r, nonce, shell)
		return
	}
	text, err := f.d.Fleet.OpenInstall(r.Context(), nonce, shell, front.Address(r))
	if err != nil {
		f.missing(w, r, err)
		return
	}
	plain(w, int64(len(text)))
	_, _ = w.Write([]byte(text)) // a caller that is gone needs a new link
}

// lookers are words in the names of programs that open links to show what is there.
var lookers = []string{"bot", "preview", "crawler", "spider", "facebookexternalhit", "whatsapp", "embed", "slack", "skype", "teams"}

// onlyLooks reports whether a request comes from somebody who will not run what is
// sent: a question for the headers, a browser, a preview.
func onlyLooks(r *http.Request) bool {
	if r.Method == http.MethodHead || strings.Contains(r.Header.Get("Accept"), "text/html") ||
		strings.Contains(r.Header.Get("Purpose")+r.Header.Get("Sec-Purpose")+r.Header.Get("X-Purpose"), "pre") {
		return true
	}
	name := strings.ToLower(r.UserAgent())
	return slices.ContainsFunc(lookers, func(word string) bool { return strings.Contains(name, word) })
}

// showInstall says what a link is for, without opening it.
func (f *Face) showInstall(w http.ResponseWriter, r *http.Request, nonce string, shell update.Shell) {
	if err := f.d.Fleet.PeekInstall(r.Context(), nonce, shell); err != nil {
		f.missing(w, r, err)
		return
	}
	const text = "This link installs the Parley endpoint, once, with the line it came in. Looking at it has not used it up.\n"
	plain(w, int64(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(text))
	}
}

// serveInstallProgram hands out the program of a script that was just fetched.
func (f *Face) serveInstallProgram(w http.ResponseWriter, r *http.Request) {
	c, err := f.d.Fleet.InstallProgram(r.Context(), r.PathValue("nonce"), r.PathValue("platform"))
	f.send(w, r, c, err)
}

// serveDownload hands out an update, or with .sig its signature.
func (f *Face) serveDownload(w http.ResponseWriter, r *http.Request) {
	nonce := r.PathValue("nonce")
	if name, ok := strings.CutSuffix(nonce, ".sig"); ok {
		signature, err := f.d.Fleet.DownloadSignature(r.Context(), name)
		if err != nil {
			f.missing(w, r, err)
			return
		}
		plain(w, int64(len(signature)))
		_, _ = w.Write([]byte(signature))
		return
	}
	c, err := f.d.Fleet.Download(r.Context(), nonce)
	f.send(w, r, c, err)
}

func plain(w http.ResponseWriter, size int64) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
}

// send streams a program.
func (f *Face) send(w http.ResponseWriter, r *http.Request, c update.Content, err error) {
	if err != nil {
		f.missing(w, r, err)
		return
	}
	plain(w, c.Size)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	if err := c.WriteTo(r.Context(), w); err != nil {
		f.d.Log.Warn("a program was not sent whole", "platform", c.Platform, "error", err)
		// The answer has begun: cutting it is the only honest way to say so.
		panic(http.ErrAbortHandler)
	}
}

// missing answers for addresses that do not work; why, nobody learns.
func (f *Face) missing(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, fleet.ErrNoLink) {
		f.d.Front.Fail(w, r, front.NewProblem(http.StatusNotFound, "not_found", fleet.ErrNoLink.Error(), nil))
		return
	}
	if fault.CodeOf(err) == fault.Unavailable {
		err = front.NewProblem(http.StatusServiceUnavailable, string(fault.Unavailable), err.Error(), err)
	}
	f.d.Front.Fail(w, r, err)
}
