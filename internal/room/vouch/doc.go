// Package vouch is whom a room believes about others: issuers that vouch for agents,
// authorities whose certificates
// they carry, identity providers that vouch for people, and mints whose credits agents bring. It
// fetches their keys, once for many, and verifies what they signed; whether that lets
// somebody in is the gate's to say.
package vouch
