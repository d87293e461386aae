package kenny

import (
	"context"
	"crypto/rand"
	"fmt"

	wire "parley.internal/protocol/kenny"
)

// handshake registers, verifies the hub, and only then proves the machine.
func (c *Client) handshake(ctx context.Context, conn Conn) error {
	nonce := make([]byte, wire.NonceSize)
	rand.Read(nonce)
	meta := c.cfg.Meta
	if c.cfg.MetaNow != nil {
		meta = c.cfg.MetaNow()
	}
	register := &wire.Register{AgentID: c.cfg.AgentID, Protocol: wire.Version, ClientNonce: nonce, Meta: meta}
	if err := writeFrame(ctx, conn, register); err != nil {
		return err
	}
	challenge, err := readChallenge(ctx, conn)
	if err != nil {
		return err
	}
	transcript, err := wire.Transcript(c.cfg.AgentID, nonce, challenge.ServerNonce)
	if err != nil {
		return err
	}
	if err := wire.Verify(transcript, challenge.ServerSig, c.cfg.ServerKeys...); err != nil {
		return fmt.Errorf("%w: %w", ErrServerUnverified, err)
	}
	sig, err := wire.Sign(c.cfg.Key, transcript)
	if err != nil {
		return err
	}
	return writeFrame(ctx, conn, &wire.Auth{AgentSig: sig})
}

// readChallenge takes a challenge in time, or nothing at all.
func readChallenge(ctx context.Context, conn Conn) (*wire.Challenge, error) {
	ctx, cancel := context.WithTimeout(ctx, wire.HandshakeWait)
	defer cancel()
	msg, err := conn.Read(ctx, wire.MaxUnauthenticated)
	if err != nil {
		return nil, fmt.Errorf("waiting for a challenge: %w", err)
	}
	if msg.Binary || msg.TooLarge {
		return nil, fmt.Errorf("%w: binary or oversized message", ErrHandshake)
	}
	frame, err := wire.Decode(msg.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	challenge, ok := frame.(*wire.Challenge)
	if !ok {
		return nil, fmt.Errorf("%w: %s in place of a challenge", ErrHandshake, frame.Type())
	}
	return challenge, nil
}

// writeFrame writes one frame, bounded in time.
func writeFrame(ctx context.Context, conn Conn, f wire.Frame) error {
	data, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return writeData(ctx, conn, data)
}

func writeData(ctx context.Context, conn Conn, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, wire.WriteWait)
	defer cancel()
	return conn.Write(ctx, data)
}
