// Package publicnet connects to the public internet and to nothing else, for
// addresses that somebody else chose: a model's web page, a browser's push
// service. Names are resolved first and the very address that was checked is the
// one connected to, so a name that changes its mind gains nothing.
//
//	guard := publicnet.Guard{}
//	client := &http.Client{Transport: &http.Transport{DialContext: guard.Dial}}
//
// What is refused is refused with ErrNotPublic.
package publicnet
