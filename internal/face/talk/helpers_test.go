package talk_test

import (
	"errors"
	"syscall"

	"google.golang.org/protobuf/proto"

	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
)

var (
	adminWho  = identity.Hub()
	noFilter  = talk.Filter{}
	noHistory = talk.HistoryRequest{}
)

func talkKey(agent, sender, thread string) talk.Key {
	return talk.Key{Agent: agent, Sender: sender, Thread: thread}
}

func mustMarshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
