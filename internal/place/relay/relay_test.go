package relay_test

import (
	"testing"

	"parley.internal/internal/place/relay/relaytest"
	"parley.internal/internal/store/storetest"
)

func TestTheRelayKeepsItsContractOnBothDatabases(t *testing.T) {
	storetest.Each(t, relaytest.Contract)
}

func TestNoSequenceWithRestartsRefusedWritesAndTimeLosesOrDoublesAnything(t *testing.T) {
	storetest.Each(t, relaytest.Model)
}
