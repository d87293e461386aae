// Package qr draws short texts as QR codes (ISO/IEC 18004, byte mode, error correction L, versions 1
// to 10) on a terminal, so that a phone's camera opens a link that stands there.
//
//	code, err := qr.Encode("https://hub.example.org/login#…")
//	fmt.Print(code)
package qr

import (
	"errors"
	"strings"
)

// ErrTooLong says that a text does not fit into a code that phones read from a screen.
var ErrTooLong = errors.New("the text is too long for a QR code")

// version is what the standard says about one size.
type version struct {
	// blocks are the data codewords of each block, check those that follow each.
	blocks []int
	check  int
	align  []int
}

// versions are those of level L; index 0 is version 1.
var versions = []version{
	{[]int{19}, 7, nil},
	{[]int{34}, 10, []int{6, 18}},
	{[]int{55}, 15, []int{6, 22}},
	{[]int{80}, 20, []int{6, 26}},
	{[]int{108}, 26, []int{6, 30}},
	{[]int{68, 68}, 18, []int{6, 34}},
	{[]int{78, 78}, 20, []int{6, 22, 38}},
	{[]int{97, 97}, 24, []int{6, 24, 42}},
	{[]int{116, 116}, 30, []int{6, 26, 46}},
	{[]int{68, 68, 69, 69}, 18, []int{6, 28, 50}},
}

func (v version) data() (n int) {
	for _, b := range v.blocks {
		n += b
	}
	return n
}

// Code is a square of modules; true is dark.
type Code [][]bool

// Encode makes the smallest code that holds a text.
func Encode(text string) (Code, error) {
	for i, v := range versions {
		number := i + 1
		header := 12
		if number > 9 {
			header = 20
		}
		if 8*len(text)+header <= 8*v.data() {
			return draw(number, v, interleave(v, fill(number, v.data(), text))), nil
		}
	}
	return nil, ErrTooLong
}

// bits is a row of bits, the highest of each byte first.
type bits struct {
	bytes []byte
	n     int
}

func (b *bits) add(value, width int) {
	for i := width - 1; i >= 0; i-- {
		if b.n%8 == 0 {
			b.bytes = append(b.bytes, 0)
		}
		if value>>i&1 == 1 {
			b.bytes[b.n/8] |= 0x80 >> (b.n % 8)
		}
		b.n++
	}
}

// fill is the text as data codewords: mode, length, bytes, end, and padding to the full number.
func fill(number, codewords int, text string) []byte {
	var b bits
	b.add(0b0100, 4)
	if number > 9 {
		b.add(len(text), 16)
	} else {
		b.add(len(text), 8)
	}
	for i := range len(text) {
		b.add(int(text[i]), 8)
	}
	b.add(0, min(4, 8*codewords-b.n))
	for pad := 0xEC; len(b.bytes) < codewords; pad ^= 0xEC ^ 0x11 {
		b.bytes = append(b.bytes, byte(pad))
	}
	return b.bytes
}

// interleave orders the codewords of all blocks as they are drawn: the first of each, the second of
// each, and so on, then their check words likewise.
func interleave(v version, data []byte) (out []byte) {
	var blocks, checks [][]byte
	for _, n := range v.blocks {
		blocks = append(blocks, data[:n])
		checks = append(checks, remainder(data[:n], v.check))
		data = data[n:]
	}
	for _, group := range [][][]byte{blocks, checks} {
		for i := 0; i < len(group[len(group)-1]); i++ {
			for _, block := range group {
				if i < len(block) {
					out = append(out, block[i])
				}
			}
		}
	}
	return out
}

// times multiplies in the field of 256 elements with the polynomial x⁸+x⁴+x³+x²+1.
func times(a, b byte) (p byte) {
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			p ^= a
		}
		high := a & 0x80
		if a <<= 1; high != 0 {
			a ^= 0x1D
		}
	}
	return p
}

// remainder is the Reed-Solomon check of a block: what is left of dividing it by (x-1)(x-2)(x-4)….
func remainder(data []byte, n int) []byte {
	divisor := make([]byte, n)
	divisor[n-1] = 1
	for root, i := byte(1), 0; i < n; i, root = i+1, times(root, 2) {
		for j := range divisor {
			divisor[j] = times(divisor[j], root)
			if j+1 < n {
				divisor[j] ^= divisor[j+1]
			}
		}
	}
	rest := make([]byte, n)
	for _, b := range data {
		factor := b ^ rest[0]
		copy(rest, rest[1:])
		rest[n-1] = 0
		for j := range rest {
			rest[j] ^= times(divisor[j], factor)
		}
	}
	return rest
}

// String draws two rows of modules in one line of characters, with the quiet zone that readers need. It is
// drawn light on dark, as most terminals are.
func (c Code) String() string {
	const quiet = 2
	light := func(x, y int) bool {
		return x < 0 || y < 0 || x >= len(c) || y >= len(c) || !c[y][x]
	}
	var out strings.Builder
	for y := -quiet; y < len(c)+quiet; y += 2 {
		for x := -quiet; x < len(c)+quiet; x++ {
			switch upper, lower := light(x, y), light(x, y+1) && y+1 < len(c)+quiet; {
			case upper && lower:
				out.WriteRune('█')
			case upper:
				out.WriteRune('▀')
			case lower:
				out.WriteRune('▄')
			default:
				out.WriteByte(' ')
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}
