// Package natstest runs real nats-server processes for tests: one, or a cluster, whose nodes can be killed
// and restarted.
//
//	nodes := natstest.Cluster(t, 3)
//	b, err := bus.ConnectNATS(ctx, bus.NATSConfig{Servers: bus.Servers{URLs: nodes[0].URL()}, Secret: secret})
//	nodes[0].Kill()    // as a power cut would
//	nodes[0].Restart() // on the same ports
//
// The server is built once from the module version in go.mod and kept in .tools/ at the top of the repository.
// Everything ends with the test.
package natstest
