package kenny

import (
	"errors"
	"math/big"
	"slices"
)

// The curve arithmetic below serves enrolment and pin checks only. Its input
// is public, so it may take time that depends on it; signatures are the
// standard library's business.

// fieldPrime is 2²⁵⁵ − 19.
func fieldPrime() *big.Int {
	p := new(big.Int).Lsh(big.NewInt(1), 255)
	return p.Sub(p, big.NewInt(19))
}

// curveD is −121665/121666 in the field.
func curveD(p *big.Int) *big.Int {
	d := new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665))
	return d.Mod(d, p)
}

// decodePoint reads the 32-byte spelling of a point (RFC 8032, 5.1.3) and
// insists on the canonical one.
func decodePoint(key []byte) (x, y *big.Int, err error) {
	p := fieldPrime()
	be := slices.Clone(key)
	slices.Reverse(be)
	negative := be[0]&0x80 != 0
	be[0] &= 0x7f
	y = new(big.Int).SetBytes(be)
	if y.Cmp(p) >= 0 {
		return nil, nil, errors.New("not a canonical encoding")
	}
	x = recoverX(y, p)
	if x == nil {
		return nil, nil, errors.New("not a point on the curve")
	}
	if x.Sign() == 0 && negative {
		return nil, nil, errors.New("not a canonical encoding")
	}
	if (x.Bit(0) == 1) != negative {
		x.Sub(p, x)
	}
	return x, y, nil
}

// recoverX solves −x² + y² = 1 + d·x²·y²; nil if there is no such x.
func recoverX(y, p *big.Int) *big.Int {
	one := big.NewInt(1)
	yy := new(big.Int).Mul(y, y)
	yy.Mod(yy, p)
	num := new(big.Int).Sub(yy, one)
	num.Mod(num, p)
	den := new(big.Int).Mul(curveD(p), yy)
	den.Add(den, one).Mod(den, p)
	xx := den.ModInverse(den, p) // never zero: −1/d is no square
	xx.Mul(xx, num).Mod(xx, p)
	return new(big.Int).ModSqrt(xx, p)
}

// smallOrder reports whether eight times the point is the neutral element.
func smallOrder(x, y *big.Int) bool {
	p := fieldPrime()
	for range 3 {
		x, y = double(x, y, p)
	}
	return x.Sign() == 0 && y.Cmp(big.NewInt(1)) == 0
}

// double adds a point to itself in affine coordinates.
func double(x, y, p *big.Int) (x2, y2 *big.Int) {
	xx := new(big.Int).Mul(x, x)
	yy := new(big.Int).Mul(y, y)
	t := new(big.Int).Mul(xx, yy)
	t.Mul(t, curveD(p)).Mod(t, p)
	one := big.NewInt(1)
	x2 = new(big.Int).Mul(x, y)
	x2.Lsh(x2, 1).Mul(x2, inverse(new(big.Int).Add(one, t), p))
	y2 = new(big.Int).Add(xx, yy)
	y2.Mul(y2, inverse(new(big.Int).Sub(one, t), p))
	return x2.Mod(x2, p), y2.Mod(y2, p)
}

func inverse(v, p *big.Int) *big.Int {
	v.Mod(v, p)
	return v.ModInverse(v, p)
}
