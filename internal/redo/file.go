package redo

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// limits are constants but for tests.
type limits struct {
	step    int64 // files grow by this much
	maxFile int64 // to this size at most
	keep    int   // a larger buffer is not kept
}

// A step costs a few milliseconds and is taken at most sixteen times per file. A
// MiB of relayed messages is a second or two of heavy traffic; sixteen are room for
// a database that stands still for a while.
var defaults = limits{step: 1 << 20, maxFile: 16 << 20, keep: 1 << 20}

var zeros [64 << 10]byte

// file is one of the two. Its Log's mutex guards it.
type file struct {
	disk
	salt    uint32
	size    int64 // up to here are blocks, durably
	tail    int64 // up to here are records of this round
	dirty   bool  // some of them are not flushed, nor settled
	settled bool  // they may be written over
	round   int   // counts how often the file was begun
}

// begin makes everything in the file unreadable, durably, and makes a new file
// readable.
func (f *file) begin(owner string) error {
	var salt [4]byte
	rand.Read(salt[:])
	f.salt = binary.LittleEndian.Uint32(salt[:])
	if _, err := f.WriteAt(encodeHeader(owner, f.salt), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	f.size = max(f.size, headerSize)
	f.rewind()
	f.settled = true
	return nil
}

// rewind begins a round: what the file held is settled.
func (f *file) rewind() {
	f.tail, f.dirty, f.settled = headerSize, false, false
	f.round++
}

// flushed makes the file's records durable if they are not.
func (f *file) flushed() error {
	if !f.dirty {
		return nil
	}
	if err := f.Flush(); err != nil {
		return err
	}
	f.dirty = false
	return nil
}

// grow writes zeros until the file has blocks up to end, in whole steps. The file
// must not be dirty, so that a failure concerns no record; it can be tried again.
func (f *file) grow(end int64, l limits) error {
	end = min((end+l.step-1)/l.step*l.step, l.maxFile)
	for at := f.size; at < end; {
		n, err := f.WriteAt(zeros[:min(end-at, int64(len(zeros)))], at)
		if err != nil {
			return fmt.Errorf("redo: make room: %w", err)
		}
		at += int64(n)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("redo: make room: %w", err)
	}
	f.size = end
	return nil
}
