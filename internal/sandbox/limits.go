package sandbox

// Limits bound what a program and all it starts may use. Zero is no limit.
type Limits struct {
	// Processes and their threads, of one box.
	Processes int
	// Memory of each process for its own data, FileSize of each file, in bytes.
	Memory, FileSize int64
	// OpenFiles of each process.
	OpenFiles int
	// CPU is the processor time of each process, in seconds.
	CPU int
}
