package mmp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonicalForms(t *testing.T) {
	for _, c := range []struct{ in, compact, sorted string }{
		{` { "b" : 1 , "a" : [ 1 , { "z":0, "y":1 } ] } `, `{"b":1,"a":[1,{"z":0,"y":1}]}`, `{"a":[1,{"y":1,"z":0}],"b":1}`},
		{`{"b":"\u00e9\/","a":"é/"}`, `{"b":"\u00e9\/","a":"é/"}`, `{"a":"é/","b":"\u00e9\/"}`},
		{`{"\u0062":1,"a":2}`, `{"\u0062":1,"a":2}`, `{"a":2,"\u0062":1}`},
		{`{"n":1.50,"m":1E+2,"k":-0}`, `{"n":1.50,"m":1E+2,"k":-0}`, `{"k":-0,"m":1E+2,"n":1.50}`},
		{`{"Z":1,"a":2,"é":3,"":4}`, `{"Z":1,"a":2,"é":3,"":4}`, `{"":4,"Z":1,"a":2,"é":3}`},
		{`"  kept  "`, `"  kept  "`, `"  kept  "`},
		{`[]`, `[]`, `[]`},
		{`{}`, `{}`, `{}`},
		{"null", "null", "null"},
	} {
		compact, err := Compact([]byte(c.in))
		if err != nil || string(compact) != c.compact {
			t.Errorf("Compact(%s) = %s, %v", c.in, compact, err)
		}
		sorted, err := Sorted([]byte(c.in))
		if err != nil || string(sorted) != c.sorted {
			t.Errorf("Sorted(%s) = %s, %v", c.in, sorted, err)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{} {}`, "\"\xff\"", `{'a':1}`, `[1,]`,
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		strings.Repeat("9", MaxNumber+1), `1e99999`, `{"a":1e-123456789}`,
	} {
		if out, err := Compact([]byte(in)); err == nil {
			t.Errorf("Compact(%.40s) = %.40s", in, out)
		}
		if _, err := Sorted([]byte(in)); err == nil {
			t.Errorf("Sorted(%.40s)", in)
		}
	}
	for _, in := range []string{
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
		`"` + strings.Repeat("9", 1000) + `[[["`, `[` + strings.Repeat("1,", 1000) + `1]`, `[true,false,1e9999]`,
	} {
		if _, err := Compact([]byte(in)); err != nil {
			t.Errorf("Compact(%.40s): %v", in, err)
		}
	}
}

func TestOnlyWhatJSONRequiresIsEscaped(t *testing.T) {
	got, err := EncodeSorted(map[string]any{"b": "<>&'/\u2028\u2029\u007fé", "a": "\"\\\n\x01"})
	if err != nil || string(got) != "{\"a\":\"\\\"\\\\\\n\\u0001\",\"b\":\"<>&'/\u2028\u2029\u007fé\"}" {
		t.Errorf("%s %v", got, err)
	}
}

// anyJSON makes values of every shape.
func anyJSON(depth int) *rapid.Generator[any] {
	text := rapid.String()
	flat := []*rapid.Generator[any]{
		text.AsAny(), rapid.Bool().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Just[any](nil),
	}
	if depth == 0 {
		return rapid.OneOf(flat...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) })
	return rapid.OneOf(append(flat, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(text, inner, 0, 4).AsAny())...)
}

func TestSortedKeepsTheValueAndForgetsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(3).Draw(t, "value")
		pretty, err := json.MarshalIndent(v, " ", "\t") // sorts, and escapes more than we do
		if err != nil {
			t.Skip("not JSON")
		}
		sorted, err := Sorted(pretty)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Sorted(sorted)
		if err != nil || !bytes.Equal(sorted, again) {
			t.Fatalf("not stable: %s then %s", sorted, again)
		}
		var back, want any
		if json.Unmarshal(sorted, &back) != nil || json.Unmarshal(pretty, &want) != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("value changed: %s", sorted)
		}
		compact, err := Compact(pretty)
		if err != nil || len(compact) != len(sorted) {
			t.Fatalf("sorting changed more than order: %s / %s", compact, sorted)
		}
	})
}

func TestSortedOfShuffledIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOfN(rapid.StringMatching(`[a-zé]{1,5}`), rapid.Int(), 1, 8).Draw(t, "members")
		names := rapid.Permutation(keysOf(m)).Draw(t, "order")
		var b strings.Builder
		for i, k := range names {
			if i > 0 {
				b.WriteString(" , ")
			}
			b.WriteString(strconv.Quote(k) + " : 1")
		}
		got, err := Sorted([]byte("{" + b.String() + "}"))
		ones := map[string]int{}
		for k := range m {
			ones[k] = 1
		}
		want, err2 := EncodeSorted(ones)
		if err != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func keysOf(m map[string]int) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestHashForms(t *testing.T) {
	bare := HashOf("hello").Bare()
	if bare != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Fatalf("bare is %v; want bare to be \"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\"", bare)
	}
	for _, s := range []string{bare, strings.ToUpper(bare), "sha256:" + bare, "SHA256:" + strings.ToUpper(bare)} {
		if !HashFits(s, "hello") || !SameHash(s, bare) {
			t.Errorf("%s does not fit", s)
		}
	}
	for _, s := range []string{"", bare[1:], bare + "0", "sha512:" + bare, "sha256:" + bare[2:], strings.Repeat("g", 64), "sha256:sha256:" + bare} {
		if _, err := ParseHash(s); err == nil || HashFits(s, "hello") || SameHash(s, s) {
			t.Errorf("%q was read", s)
		}
	}
	if HashOf("x").Prefixed() != "sha256:"+HashOf([]byte("x")).Bare() {
		t.Error("prefixed")
	}
}
