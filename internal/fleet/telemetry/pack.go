package telemetry

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds what a stored snapshot may unpack to: more than any telemetry
// frame or collected result can hold.
const maxUnpacked = 16 << 20

// Lanes is how many snapshots may be packed at a time: those write side by side, so
// that they share the disk's flush.
const Lanes = 8

// packer compresses snapshots. It is safe for everybody at once.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(Lanes), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderLowmem(true))
	return &packer{enc, dec}, err
}

func (p *packer) close() {
	_ = p.enc.Close() // nothing was streamed
	p.dec.Close()
}

// pack compresses a snapshot for the store.
func (p *packer) pack(snapshot map[string]jsontext.Value) ([]byte, error) {
	raw, err := json.Marshal(snapshot, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return p.enc.EncodeAll(raw, nil), nil
}

// unpack reads what pack wrote.
func (p *packer) unpack(data []byte) (map[string]jsontext.Value, error) {
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
