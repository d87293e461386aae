//go:build tools

package natstest

// The server program is built from the module; this keeps it in go.mod.
import _ "github.com/nats-io/nats-server/v2"
