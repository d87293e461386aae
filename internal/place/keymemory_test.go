package place

import "testing"

// What is remembered of keys is never older than the last change of a key.
func TestAChangedKeyIsLookedUpAgain(t *testing.T) {
	know := func(k *keyMemory, id string, want int64, sure bool) {
		t.Helper()
		if at, ok := k.get(id); ok != sure || ok && at != want {
			t.Errorf("%s: %d %v", id, at, ok)
		}
	}
	for name, k := range map[string]*keyMemory{"all keys": {alone: true, all: true, of: map[string]int64{"ada": 5}}, "some keys": {alone: true, of: map[string]int64{"ada": 5, "bob": noKey}}} {
		t.Run(name, func(t *testing.T) {
			know(k, "ada", 5, true)
			know(k, "bob", noKey, true)
			know(k, "new", noKey, k.all)
			k.forget("ada")
			k.forget("bob")
			know(k, "ada", 0, false)
			know(k, "bob", 0, false)
			k.set("ada", noKey)
			k.set("bob", 7)
			know(k, "ada", noKey, true)
			know(k, "bob", 7, true)
			k.forgetAll()
			know(k, "ada", 0, false)
			know(k, "new", 0, false)
		})
	}
	clustered := &keyMemory{}
	clustered.set("ada", 5)
	know(clustered, "ada", 0, false)
}
