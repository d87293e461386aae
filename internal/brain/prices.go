package brain

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"parley.internal/internal/brain/model"
)

// Price is what a model costs, in US dollars per million tokens, which is the same
// as millionths of a dollar per token.
type Price struct {
	Input      float64 `yaml:"input"`
	Output     float64 `yaml:"output"`
	CacheRead  float64 `yaml:"cache_read"`
	CacheWrite float64 `yaml:"cache_write"`
}

// Cost is what a call cost, in millionths of a dollar. A cache price that is not
// given is the input price.
func (p *Price) Cost(u model.Usage) int64 {
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	written := min(u.CacheWrite, max(u.Prompt-u.CacheHit, 0))
	plain := max(u.Prompt-u.CacheHit-written, 0)
	micros := float64(plain)*p.Input + float64(u.CacheHit)*read + float64(written)*write + float64(u.Completion)*p.Output
	return int64(math.Round(micros))
}

// Prices is the table of what models cost and how much they read at once.
type Prices struct {
	// AsOf is the date of the built-in part.
	AsOf   string
	models map[string]priceRow
}

type priceRow struct {
	Price  *Price `yaml:"price"`
	Window int64  `yaml:"window"`
}

type priceFile struct {
	AsOf   string              `yaml:"as_of"`
	Models map[string]priceRow `yaml:"models"`
}

//go:embed prices.yaml
var builtinPrices []byte

// LoadPrices reads the built-in table and lays <dir>/prices.yaml over it, if there
// is one: an entry there replaces the one of the same name.
func LoadPrices(dir string) (*Prices, error) {
	base, err := parsePrices(builtinPrices)
	if err != nil {
		return nil, fmt.Errorf("built-in prices: %w", err)
	}
	p := &Prices{AsOf: base.AsOf, models: base.Models}
	if dir == "" {
		return p, nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, "prices.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	own, err := parsePrices(raw)
	if err != nil {
		return nil, fmt.Errorf("prices.yaml: %w", err)
	}
	maps.Copy(p.models, own.Models)
	return p, nil
}

func parsePrices(raw []byte) (*priceFile, error) {
	var f priceFile
	d := yaml.NewDecoder(strings.NewReader(string(raw)))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	for name, row := range f.Models {
		if row.Window < 0 || row.Price != nil && (row.Price.Input < 0 || row.Price.Output < 0 || row.Price.CacheRead < 0 || row.Price.CacheWrite < 0) {
			return nil, fmt.Errorf("%s: negative number", name)
		}
	}
	return &f, nil
}

// dated is how providers name one release of a model.
var dated = regexp.MustCompile(`[-@]((\d{8})|(\d{4}-\d{2}-\d{2})|latest)$`)

// Lookup finds a model, by "provider:name" first, then by name; a release's date
// does not matter. ok is false for a model the table does not know.
func (p *Prices) Lookup(ref model.Ref) (price *Price, window int64, ok bool) {
	if p == nil {
		return nil, 0, false
	}
	plain := dated.ReplaceAllString(ref.Model, "")
	for _, key := range []string{ref.String(), ref.Provider + ":" + plain, ref.Model, plain} {
		if row, found := p.models[key]; found {
			return row.Price, row.Window, true
		}
	}
	return nil, 0, false
}
