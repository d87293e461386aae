// Package skills tests two whole hubs whose agents meet: they introduce
// themselves, exchange a skill under approval, and lose nothing when a hub dies.
package skills
