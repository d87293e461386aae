// Package cluster holds the tests of several hubs that are one: on one PostgreSQL and a NATS cluster of three
// nodes. Any hub serves any client; what one hub did holds on all; a hub or a NATS node that dies is survived.
package cluster
