//go:build !unix

package bench

func settleDisk() {}
