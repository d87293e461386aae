package identity

import (
	"time"

	"parley.internal/internal/limit"
)

// The limits of logins with any credential, and of pairing codes, which are
// short and must not be guessed.
var (
	LoginLimits   = limit.GuessLimits{PerMinute: 60, Failures: 5, Window: 5 * time.Minute, Lock: 5 * time.Minute, Networks: 16_384}
	PairingLimits = limit.GuessLimits{PerMinute: 10, Failures: 5, Window: 5 * time.Minute, Lock: 5 * time.Minute, Networks: 16_384}
)
