package relay

// NumOf is the number an id says.
func NumOf(id string) int64 { return numOf(id) }
