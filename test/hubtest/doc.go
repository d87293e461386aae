// Package hubtest runs real hubs for tests: the program itself, in a process of its own, that can be
// asked, told to stop, and killed.
//
//	func TestMain(m *testing.M) { hubtest.Main(m) }
//
//	h := hubtest.Start(t, hubtest.Config{})           // ready when it returns
//	made, err := hubapi.Call(ctx, h.Client(), rest.CreateToken, …)
//	h.Kill9()                                         // as a power cut would
//	h.Restart()                                       // the same data folder
//
// The program is built once per test process. Everything ends with the test.
package hubtest
