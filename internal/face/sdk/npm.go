package sdk

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// packageFolder is where the build leaves what the package consists of.
const packageFolder = "sdk/package"

// npmTakes is a version that npm takes as it is.
var npmTakes = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

var foreign = regexp.MustCompile(`[^0-9A-Za-z-]+`)

// npmVersion is the hub's version as npm writes versions. One between releases, which
// is a commit's name, comes before all that are released.
func npmVersion(version string) string {
	if m := npmTakes.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return "0.0.0-dev." + strings.Trim(foreign.ReplaceAllString(version, "-"), "-")
}

func archiveName(version string) string { return "parley-rooms-" + npmVersion(version) + ".tgz" }

// npmArchive packs the SDK, always into the same bytes.
func npmArchive(files fs.FS, version string) ([]byte, error) {
	entries, err := fs.ReadDir(files, packageFolder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	pack := tar.NewWriter(zip)
	for _, e := range entries {
		data, err := fs.ReadFile(files, path.Join(packageFolder, e.Name()))
		if err == nil && e.Name() == "package.json" {
			data, err = withVersion(data, version)
		}
		if err != nil {
			return nil, err
		}
		if err := pack.WriteHeader(&tar.Header{Name: "package/" + e.Name(), Mode: 0o644, Size: int64(len(data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := pack.Write(data); err != nil {
			return nil, err
		}
	}
	if err := pack.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// withVersion writes the hub's version into the package's description.
func withVersion(data []byte, version string) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	doc["version"], _ = json.Marshal(npmVersion(version))
	return json.MarshalIndent(doc, "", "  ")
}
