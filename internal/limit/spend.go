package limit

import (
	"time"

	"golang.org/x/time/rate"
)

// Spend takes n tokens out of a bucket, or takes none and says when they will be
// there. More than the bucket can hold counts as all that it can.
func Spend(bucket *rate.Limiter, n int) (wait time.Duration) {
	now := time.Now()
	r := bucket.ReserveN(now, min(n, bucket.Burst()))
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
