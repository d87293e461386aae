package store

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"parley.internal/internal/wake"
)

const (
	// tidyAfter commits the log is copied into the database, but not more often
	// than tidyEvery: each time costs two flushes of the disk.
	tidyAfter = 64
	tidyEvery = 250 * time.Millisecond
	// A log this long (in pages, 4 MiB) is begun anew when all of it is copied: as long
	// as it grows, each flush of it costs half as much again.
	longLog = 1000
)

// checkpointer copies SQLite's log into the database beside the writer, which
// would otherwise do it inside a commit that people wait for.
type checkpointer struct {
	pool    *sql.DB
	commits atomic.Int64
	wake    wake.Bell
	// last says that little is left to copy: the writer does that between two
	// batches, and the log begins anew.
	last atomic.Bool
	quit chan struct{}
	done chan struct{}
}

func startCheckpointer(pool *sql.DB) *checkpointer {
	c := &checkpointer{pool: pool, wake: wake.New(), quit: make(chan struct{}), done: make(chan struct{})}
	go c.loop()
	return c
}

// committed is called by the writer after each commit.
func (c *checkpointer) committed() {
	if c.commits.Add(1) < tidyAfter {
		return
	}
	c.wake.Ring()
}

func (c *checkpointer) loop() {
	defer close(c.done)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-rest.C:
		case <-c.quit:
			return
		}
		select {
		case <-c.wake:
		case <-c.quit:
			return
		}
		c.tidy()
		rest.Reset(tidyEvery)
	}
}

// tidy copies what can be copied without waiting for anybody. It may fail; the
// writer's own checkpoint is behind it.
func (c *checkpointer) tidy() {
	c.commits.Store(0)
	var busy, pages, copied int
	err := c.pool.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &copied)
	if err == nil && busy == 0 && pages > longLog {
		c.last.Store(true)
	}
}

func (c *checkpointer) stop() error {
	close(c.quit)
	<-c.done
	return c.pool.Close()
}
