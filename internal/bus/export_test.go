package bus

import "time"

// Sealed makes a message as a hub of the cluster would have sent it at some time.
func Sealed(secret []byte, sent time.Time, subject, data string) []byte {
	return sealedAs(published, secret, sent, subject, data)
}

// SealedRequest makes a request.
func SealedRequest(secret []byte, subject, data string) []byte {
	return sealedAs(requested, secret, time.Now(), subject, data)
}

func sealedAs(k kind, secret []byte, sent time.Time, subject, data string) []byte {
	l, err := newSeal(secret)
	if err != nil {
		panic(err)
	}
	e := envelope{kind: k, nonce: newNonce(session{0xfe}, uint64(sent.UnixNano())), sent: sent, hub: "hub-9"}
	return l.close(new(scratch), e, subject, stampNonce{}, []byte(data))
}
