package embed_test

import (
	"errors"
	"testing"

	"parley.internal/internal/embed"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "origin.", "!origin.refused") }

func TestOnlyAWebsiteThatNobodyCanSpeakForIsListed(t *testing.T) {
	for text, want := range map[string]string{
		"https://App.Example.org":       "https://app.example.org",
		"https://app.example.org:443/":  "https://app.example.org",
		"https://app.example.org:8443":  "https://app.example.org:8443",
		" http://localhost:3000 ":       "http://localhost:3000",
		"http://127.0.0.1:3000":         "http://127.0.0.1:3000",
		"http://app.example.org":        "",
		"https://app.example.org/a":     "",
		"https://me:pw@app.example.org": "",
		"https://*.example.org":         "",
		"https://a.example, https://b":  "",
		"null":                          "",
		"file:///etc/passwd":            "",
		"":                              "",
	} {
		got, err := embed.Parse(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("the origin %q is read as %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestAListedWebsiteIsListedUntilItIsTakenOff(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		trail := trailtest.Watch(nil)
		mine, err := embed.New(embed.Options{DB: db, Trail: trail, Always: []string{"https://always.example"}})
		if err != nil {
			t.Fatal(err)
		}
		other, _ := embed.New(embed.Options{DB: db, Trail: trail})
		ctx, who := t.Context(), identity.Hub()
		if _, err := mine.Add(ctx, who, "https://App.example"); err != nil {
			t.Fatal(err)
		}
		for origin, want := range map[string]bool{"https://app.example": true, "https://always.example": true, "https://app.example.evil": false, "http://app.example": false, "null": false} {
			if got, err := mine.Listed(ctx, origin); got != want || err != nil {
				t.Errorf("%s is listed: %v (%v), want %v", origin, got, err, want)
			}
		}
		if got, _ := other.Listed(ctx, "https://app.example"); !got {
			t.Error("another hub of the cluster does not know the website")
		}
		if list, _ := mine.List(ctx); len(list) != 2 || list[0].By != "" || list[1].By != who.String() {
			t.Errorf("the list does not say who listed what: %v", list)
		}
		if err := mine.Remove(ctx, who, "https://app.example"); err != nil {
			t.Fatal(err)
		}
		if got, _ := mine.Listed(ctx, "https://app.example"); got {
			t.Error("a website is listed that was taken off")
		}
		if err := mine.Remove(ctx, who, "https://always.example"); !errors.Is(err, embed.ErrNotListed) {
			t.Errorf("one of the settings was taken off on the page: %v", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://a.example", "http://[::1]:80", "null", "https://a.example:443/?x#y", "https://ä.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := embed.Parse(text)
		if err != nil {
			return
		}
		if again, err := embed.Parse(once); err != nil || again != once {
			t.Errorf("%q is read as %q, and that as %q (%v)", text, once, again, err)
		}
	})
}
