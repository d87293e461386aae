package bench

import (
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profileEnv tells a child where to leave its CPU profile.
const profileEnv = "PARLEY_BENCH_PROFILE"

// profile is a CPU profile of this process, if one is wanted: of a child in its
// role, or of a row with whatever it does in here.
type profile struct {
	dir  string
	name string
	file *os.File
}

// begin starts it, once.
func (p *profile) begin() error {
	if p.dir == "" || p.file != nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Clean(p.dir), p.name+"-*.pprof")
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
