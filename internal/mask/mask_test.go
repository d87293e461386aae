package mask_test

import (
	"strings"
	"testing"

	"parley.internal/internal/mask"
)

const body = "0123456789-bcdefghij_ABCDEFGHIJ0123456789abc"

func TestTheHubsOwnSecretsAreMaskedWithoutAList(t *testing.T) {
	var none *mask.Mask
	for _, secret := range []string{"prl_" + body, "prc_" + body, "prk_" + body, "prl_" + body[:20]} {
		if got := none.Text("a " + secret + "\nb"); got != "a [masked]\nb" {
			t.Errorf("%q became %q", secret, got)
		}
	}
	for _, harmless := range []string{"prl_", "prl_short", "the form is prl_ and 43 characters", "prlx_" + body, "pr_" + body} {
		if got := none.Text(harmless); got != harmless {
			t.Errorf("%q is no secret and became %q", harmless, got)
		}
	}
}

func TestValuesAndWhatBeginsLikeOne(t *testing.T) {
	m := masking("hunter2-hunter2", "line one\nline \"two\" <3", "short", "acme-*", "", "*")
	for in, want := range map[string]string{
		"the key is hunter2-hunter2.":             "the key is [masked].",
		`{"k":"line one\nline \"two\" <3"}`:       `{"k":"[masked]"}`,
		`{"k":"line one\nline \"two\" \u003c3"}`:  `{"k":"[masked]"}`,
		"line one\r\nline \"two\" <3":             "[masked]",
		"short words stay":                        "short words stay",
		"acme-12345678 and acme-1 and acme-* too": "[masked] and acme-1 and acme-* too",
		"": "",
	} {
		if got := m.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestAKeyThatChangesIsMaskedFromThenOn(t *testing.T) {
	list := []string{"first-key-of-all"}
	m := mask.New(func() []string { return list })
	_ = m.Text("anything")
	now := m.Now()
	list = []string{"second-key-of-all"}
	if got := m.Text("first-key-of-all second-key-of-all"); got != "first-key-of-all [masked]" {
		t.Errorf("after a change the new key must be masked: %q", got)
	}
	if got := now.Text("first-key-of-all second-key-of-all"); got != "[masked] second-key-of-all" {
		t.Errorf("a mask of an earlier moment stays as it was: %q", got)
	}
}

func TestJSONStaysWhatItIs(t *testing.T) {
	m := masking("12345678", "secret-value")
	for in, want := range map[string]string{
		`{"n":12345678,"s":"12345678","secret-value":[true]}`: `{"n":12345678,"s":"[masked]","[masked]":[true]}`,
		`{"s":"\u0073ecret-value"}`:                           `{"s":"[masked]"}`,
		`{"big":123456789012345678901234567890,"x":"y"}`:      `{"big":123456789012345678901234567890,"x":"y"}`,
		``: ``,
	} {
		if got := string(m.JSON([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestGuessingBlotsOutWhatLooksLikeASecret(t *testing.T) {
	var none *mask.Mask
	got := none.Guess("mysql --password=hunter2-S3cr3t; curl -H 'Authorization: Bearer abcdefghijkl' https://u:pw@host; use prk_" + body)
	for _, secret := range []string{"hunter2", "abcdefghijkl", "pw@", "prk_"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is still in %q", secret, got)
		}
	}
}
