package eventlog

// UseJournal makes a log use its journal from so many streams in a transaction,
// and move events once so many wait there.
func (l *Log) UseJournal(from, most int) { l.journal.from, l.journal.most = from, most }

// JournalLen tells how many events wait in memory to be moved.
func (l *Log) JournalLen() int {
	l.journal.mu.RLock()
	defer l.journal.mu.RUnlock()
	return l.journal.events
}

// CopyBlock unpacks a row of the journal and packs it again.
func CopyBlock(block []byte) (again []byte, err error) {
	err = eachRun(block, func(id int64, run []byte) error {
		again = appendBlock(again, id, run)
		_, err := decode(run)
		return err
	})
	return again, err
}
