package redo

// Fits tells whether the file being written has room for a record with a body of n
// bytes. It never waits; only an append makes the room less.
func (l *Log) Fits(n int64) bool {
	return headerSize+l.used.Load()+Record{}.size()+n <= l.limits.maxFile
}
