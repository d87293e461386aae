// Package relay is how sealed messages travel through a meeting place: requests to
// send, receive and acknowledge, their answers, and what became of a message.
//
// The relay sees who writes to whom and how much, never what: blobs are sealed by
// package mmp, and nothing here opens one.
package relay
