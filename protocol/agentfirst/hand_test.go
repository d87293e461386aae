package agentfirst_test

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A second, tiny encoder: field numbers are typed by hand from the tables of the
// protocol, and nothing here knows the generated code. The golden bytes come
// from it, so a wrong number in agentfirst.proto cannot hide.

type hand []byte

func cat(fields ...hand) hand {
	var all hand
	for _, f := range fields {
		all = append(all, f...)
	}
	return all
}

func str(num int, s string) hand {
	b := protowire.AppendTag(nil, protowire.Number(num), protowire.BytesType)
	return protowire.AppendString(b, s)
}

func num(number int, v uint64) hand {
	b := protowire.AppendTag(nil, protowire.Number(number), protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

func yes(number int) hand { return num(number, 1) }

func msg(number int, fields ...hand) hand { return str(number, string(cat(fields...))) }

func f32(number int, v float32) hand {
	b := protowire.AppendTag(nil, protowire.Number(number), protowire.Fixed32Type)
	return protowire.AppendFixed32(b, math.Float32bits(v))
}
