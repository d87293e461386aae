//go:build linux

package owners_test

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/mask"
)

// Masks covered terminals only. A command that printed the owner's token handed it to
// the model, to everybody who followed the task, and to the database, for good.
func TestATokenThatACommandPrintsReachesNeitherModelNorFollowersNorDisk(t *testing.T) {
	h := start(t)
	link := "prk_" + strings.Repeat("Ab-_9", 8) + "xyz"
	h.write("workspace/.env", "TOKEN="+h.Owner+"\nLINK="+link+"\nMODEL="+modelKey+"\n")

	seen, _ := h.parley(h.Owner, "task", "submit", "--mode", "always_execute", "--watch", "--json",
		"shell cat .env\nshell head -c 30 .env; tail -c +31 .env\nshell_briefly cat .env; sleep 60\nshell cat .env; exit 3\nfile_read .env")
	said, _ := h.parley(h.Owner, "chat", "parley", "-m", "file_read .env")
	h.Terminate()
	h.Wait()

	if sent := h.model.Sent(); strings.Count(sent, mask.Sign) < 5 || !strings.Contains(sent, "did not finish within") {
		t.Fatalf("the commands were to print the secrets, one of them while it ran out of time; the model was sent %s", sent)
	}
	for name, secret := range map[string]string{"the owner's token": h.Owner, "a login link": link, "the model's key": modelKey} {
		for where, text := range map[string]string{"the model": h.model.Sent(), "whoever follows the task": seen, "the conversation": said, "the log": h.Output.String()} {
			if strings.Contains(text, secret) {
				t.Errorf("%s got to see %s: %s", where, name, text)
			}
		}
		files := slices.DeleteFunc(h.filesWith(secret), func(f string) bool { return f == "owner.token" || f == "workspace/.env" })
		if len(files) > 0 {
			t.Errorf("%s is on disk in %v", name, files)
		}
	}
}
