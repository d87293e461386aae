// Package truepath opens files in a way that tells where they really are, so
// that a judgement made on the path holds for the bytes that are read.
//
//	f, err := truepath.Open(path)      // looks, without side effects
//	if allowed(f.Final) {
//		r, err := f.Reader()           // the same file, whatever path is now
//	}
//
// Final is the path the system knows the opened file by: links, short names,
// other spellings and views through /proc are gone. Opening a device, a pipe or
// a socket is refused before it could have an effect, where the system allows.
package truepath
