package relay_test

import (
	"testing"

	"parley/internal/place/relay/relaytest"
	"parley/internal/store/storetest"
)

func TestTheRelayKeepsItsContractOnBothDatabases(t *testing.T) {
	storetest.Each(t, relaytest.Contract)
}

func TestNoSequenceWithRestartsRefusedWritesAndTimeLosesOrDoublesAnything(t *testing.T) {
	storetest.Each(t, relaytest.Model)
}
