package sdk

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"testing"
	"testing/fstest"
)

func TestThePackageHasTheHubsVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.4.0": "1.4.0", "1.4.0": "1.4.0", "v1.4.0-3-gabc-dirty": "1.4.0-3-gabc-dirty", "da18de2b": "0.0.0-dev.da18de2b", "dev": "0.0.0-dev.dev", "a b/..": "0.0.0-dev.a-b",
	} {
		if got := npmVersion(version); got != want {
			t.Errorf("the hub's version %q is %q for npm, want %q", version, got, want)
		}
	}
}

func TestThePackageIsOneThatNpmUnpacks(t *testing.T) {
	files := fstest.MapFS{
		"sdk/package/package.json": {Data: []byte(`{"name":"parley-rooms","version":"0.0.0"}`)},
		"sdk/package/index.js":     {Data: []byte("export {}")},
	}
	data, err := npmArchive(files, "v2.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := npmArchive(files, "v2.0.1"); !bytes.Equal(data, again) {
		t.Error("the same package is packed into other bytes: npm's lock files would not fit")
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r)
		found[h.Name] = string(body)
	}
	var doc struct{ Name, Version string }
	if err := json.Unmarshal([]byte(found["package/package.json"]), &doc); err != nil || doc.Version != "2.0.1" || doc.Name != "parley-rooms" {
		t.Errorf("the package describes itself as %+v (%v)", doc, err)
	}
	if found["package/index.js"] != "export {}" {
		t.Errorf("the package lacks the SDK: %v", found)
	}
}
