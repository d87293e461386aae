package owner

import "testing"

func FuzzMessage(f *testing.F) {
	for _, s := range []string{"", "\n", "{}\n", `{"op":"ask","from":"a","ask":"1","thing":"x","wait":5}` + "\n{}", `{"size":-1}` + "\n", `{"error":"late","text":"…"}` + "\nbody"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		h, body, err := parse(msg)
		if err != nil {
			return
		}
		again, err := h.message(body)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		h2, body2, err := parse(again)
		if err != nil || h2 != h || string(body2) != string(body) {
			t.Fatalf("%+v %q became %+v %q (%v)", h, body, h2, body2, err)
		}
	})
}
