package keeper

import (
	"time"

	"parley.internal/internal/sandbox"
	"parley.internal/protocol/viber"
)

// Orders say what a new keeper keeps. They come on its standard input.
type Orders struct {
	Secret  string
	Command string
	Dir     string
	Size    viber.Size
	// Box is what the program's box is made with, and Folders what it has; without folders
	// it is a person's own program.
	Box     sandbox.Options
	Folders []string
	// Leaves tells that the box has a way to the network, which the hub serves.
	Leaves bool
	// Alone is how long the keeper waits for a hub.
	Alone time.Duration
}

// Ack says that output is safe.
type Ack struct {
	// At is the position up to which output is not needed any more.
	At int64
	// Shown is what was shown since the last one.
	Shown []byte
	// Notes are the hub's own, for the hub that comes after it.
	Notes []byte
}

// Found is where a terminal stands when a hub comes to it.
type Found struct {
	// At is the position where Read begins.
	At     int64
	Size   viber.Size
	Screen *viber.Scrollback
	Notes  []byte
}

const (
	// most is how much output waits for a hub before the program has to.
	most = 1 << 20
	// grace lies between the hang-up and the kill.
	grace = 3 * time.Second
	// drain is how long what a program left behind may hold up the news of its exit.
	drain = time.Second
	// look is how often a keeper without a hub looks whether its folder is still there.
	look = time.Second
	// shakeTime is how long whoever connects may take to say hello.
	shakeTime = 10 * time.Second
	// Files in the keeper's folder.
	socketName  = "socket"
	logName     = "log"
	versionName = "version"
)
