package bench

import (
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profileEnv tells a child where to leave its CPU profile.
const profileEnv = "PARLEY_BENCH_PROFILE"

// profile is the CPU profile of a child, if one is wanted.
type profile struct {
	role string
	file *os.File
}

// begin starts it, once.
func (p *profile) begin() error {
	dir := os.Getenv(profileEnv)
	if dir == "" || p.file != nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Clean(dir), p.role+"-*.pprof")
	if err != nil {
		return err
	}
	p.file = f
	return pprof.StartCPUProfile(f)
}

func (p *profile) end() {
	if p.file != nil {
		pprof.StopCPUProfile()
		_ = p.file.Close()
	}
}
