// Package earlier reads what releases before 0.9 left of the relay: messages that were
// not rows yet, packed into parcels in the table place_parcels, and the newest of those
// in two files beside the database. Nothing writes that any more; a start takes it over
// once. It can go when nobody has such a folder, or a backup of one.
package earlier
