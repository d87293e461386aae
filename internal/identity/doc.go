// Package identity knows who may act: people, their devices, and the secrets
// that prove it.
//
//	dir, err := identity.Open(ctx, db, bus, identity.Options{Audit: trail})
//	who, err := dir.Authenticate(ctx, "prl_…")         // *AuthError tells why not
//	if !who.Scopes.Has(identity.TaskSubmit) { … }
//	live := dir.Track(who, func(reason identity.Reason) { conn.Close(reason) })
//	defer live.Release()
//
// What it guarantees:
//
//   - A secret is 256 random bits and is shown once. The database keeps a salted
//     hash; nothing in it, in a log line or in an error text gives a secret away.
//   - The server decides what a credential may do. What a client asks for can
//     only narrow it (Grant).
//   - What is made to be used once (login link, pairing token, pairing code) is
//     used once, also when two try at the same moment on two hubs.
//   - A revoked credential is refused, and everything that was opened with it is
//     closed, on every hub within a second: at once through the bus, and by
//     looking into the store twice a second in case the bus lost the message.
//
// Authenticate costs a hash and a map look-up once a token is known; the time of
// last use is written behind the caller's back.
package identity
