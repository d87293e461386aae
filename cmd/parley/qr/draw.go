package qr

// canvas is a code that is being drawn. fixed marks what is no data.
type canvas struct {
	dark, fixed [][]bool
	size        int
}

func newCanvas(size int) *canvas {
	c := &canvas{size: size}
	for range size {
		c.dark = append(c.dark, make([]bool, size))
		c.fixed = append(c.fixed, make([]bool, size))
	}
	return c
}

func (c *canvas) set(x, y int, dark bool) { c.dark[y][x], c.fixed[y][x] = dark, true }

// draw makes the code of a version, with the mask that reads best.
func draw(number int, v version, codewords []byte) Code {
	var best *canvas
	least := -1
	for mask := range 8 {
		c := paint(number, v, codewords, mask)
		if p := c.penalty(); least < 0 || p < least {
			best, least = c, p
		}
	}
	return best.dark
}

func paint(number int, v version, codewords []byte, mask int) *canvas {
	c := newCanvas(17 + 4*number)
	c.patterns(v.align)
	c.format(mask)
	c.number(number)
	c.data(codewords, mask)
	return c
}

// patterns draws what readers find the code by.
func (c *canvas) patterns(align []int) {
	for i := range c.size {
		c.set(6, i, i%2 == 0)
		c.set(i, 6, i%2 == 0)
	}
	for _, at := range [][2]int{{3, 3}, {c.size - 4, 3}, {3, c.size - 4}} {
		c.rings(at[0], at[1], 4)
	}
	for i, x := range align {
		for j, y := range align {
			last := len(align) - 1
			if i == 0 && j == 0 || i == 0 && j == last || i == last && j == 0 {
				continue // a finder is there
			}
			c.rings(x, y, 2)
		}
	}
}

// rings draws squares in each other around a point; the fourth is a finder's light border.
func (c *canvas) rings(x, y, outer int) {
	for dy := -outer; dy <= outer; dy++ {
		for dx := -outer; dx <= outer; dx++ {
			if at := max(dx, -dx, dy, -dy); x+dx >= 0 && x+dx < c.size && y+dy >= 0 && y+dy < c.size {
				if outer == 4 {
					c.set(x+dx, y+dy, at != 2 && at != 4)
				} else {
					c.set(x+dx, y+dy, at != 1)
				}
			}
		}
	}
}

// format draws level and mask, twice, with 10 bits of check.
func (c *canvas) format(mask int) {
	const levelL = 1
	bits := levelL<<3 | mask
	rest := bits
	for range 10 {
		rest = rest<<1 ^ rest>>9*0x537
	}
	bits = (bits<<10 | rest) ^ 0x5412
	bit := func(i int) bool { return bits>>i&1 == 1 }
	for i := range 6 {
		c.set(8, i, bit(i))
		c.set(14-9-i, 8, bit(9+i))
	}
	c.set(8, 7, bit(6))
	c.set(8, 8, bit(7))
	c.set(7, 8, bit(8))
	for i := range 8 {
		c.set(c.size-1-i, 8, bit(i))
	}
	for i := 8; i < 15; i++ {
		c.set(8, c.size-15+i, bit(i))
	}
	c.set(8, c.size-8, true)
}

// number draws the version, twice, with 12 bits of check; small ones have none.
func (c *canvas) number(n int) {
	if n < 7 {
		return
	}
	rest := n
	for range 12 {
		rest = rest<<1 ^ rest>>11*0x1F25
	}
	bits := n<<12 | rest
	for i := range 18 {
		a, b := c.size-11+i%3, i/3
		c.set(a, b, bits>>i&1 == 1)
		c.set(b, a, bits>>i&1 == 1)
	}
}

// data draws the codewords in columns of two, up and down, from the right.
func (c *canvas) data(codewords []byte, mask int) {
	i := 0
	for right := c.size - 1; right >= 1; right -= 2 {
		if right == 6 {
			right = 5
		}
		for step := range c.size {
			y := step
			if (right+1)&2 == 0 {
				y = c.size - 1 - step
			}
			for _, x := range []int{right, right - 1} {
				if c.fixed[y][x] {
					continue
				}
				dark := i < 8*len(codewords) && codewords[i/8]>>(7-i%8)&1 == 1
				c.dark[y][x] = dark != masked(mask, x, y)
				i++
			}
		}
	}
}

func masked(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (x/3+y/2)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	default:
		return ((x+y)%2+x*y%3)%2 == 0
	}
}

// penalty is how hard the code would be to read, as the standard counts it.
func (c *canvas) penalty() (sum int) {
	dark := 0
	for y := range c.size {
		across := func(i int) bool { return c.dark[y][i] }
		down := func(i int) bool { return c.dark[i][y] }
		sum += c.line(across) + c.line(down)
		for x := range c.size {
			if c.dark[y][x] {
				dark++
			}
			if x > 0 && y > 0 && c.dark[y][x] == c.dark[y-1][x] && c.dark[y][x] == c.dark[y][x-1] && c.dark[y][x] == c.dark[y-1][x-1] {
				sum += 3
			}
		}
	}
	percent := dark * 100 / (c.size * c.size)
	return sum + 10*min(abs(percent/5*5-50), abs(percent/5*5+5-50))/5
}

func abs(n int) int { return max(n, -n) }

// finder is what a reader could take for the pattern that it looks for.
const finder = 0b10111010000

// line counts one row or column: five or more alike, and what looks like a finder.
func (c *canvas) line(at func(int) bool) (sum int) {
	run, seen := 0, 0
	for i := range c.size {
		if i > 0 && at(i) == at(i-1) {
			run++
		} else {
			run = 1
		}
		switch {
		case run == 5:
			sum += 3
		case run > 5:
			sum++
		}
		seen = seen << 1 & 0x7FF
		if at(i) {
			seen |= 1
		}
		if i >= 10 && (seen == finder || seen == 0b00001011101) {
			sum += 40
		}
	}
	return sum
}
