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

// DefaultLimits are far above what ordinary work needs, and far below what ends a machine.
func DefaultLimits() Limits {
	return Limits{Processes: 1024, Memory: 8 << 30, FileSize: 16 << 30, OpenFiles: 16384}
}
