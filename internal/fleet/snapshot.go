package fleet

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds what a stored snapshot may unpack to: more than any telemetry
// frame or collected result can hold.
const maxUnpacked = 16 << 20

// packer compresses snapshots. Both halves are safe for everybody at once.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

var sharedPacker = sync.OnceValues(func() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderLowmem(true))
	return &packer{enc, dec}, err
})

// pack compresses a snapshot for the store.
func pack(snapshot map[string]jsontext.Value) ([]byte, error) {
	p, err := sharedPacker()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(snapshot, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return p.enc.EncodeAll(raw, nil), nil
}

// unpack reads what pack wrote.
func unpack(data []byte) (map[string]jsontext.Value, error) {
	p, err := sharedPacker()
	if err != nil {
		return nil, err
	}
	raw, err := p.dec.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("stored snapshot: %w", err)
	}
	var out map[string]jsontext.Value
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("stored snapshot: %w", err)
	}
	return out, nil
}
