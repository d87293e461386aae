package launcher

import (
	"os"
	"strings"
	"syscall"
	"unsafe"
)

func init() {
	if len(os.Args) < 4 || os.Args[1] != Flag {
		return
	}
	code, err := runInJob(os.Args[2], os.Args[3:])
	if err != nil {
		_, _ = os.Stderr.WriteString("parley: the program could not be run: " + err.Error() + "\n")
	}
	os.Exit(code) //nolint:forbidigo // this process is the launcher and nothing else
}

const cannotRun = 126

var (
	kernel        = syscall.NewLazyDLL("kernel32.dll")
	createJob     = kernel.NewProc("CreateJobObjectW")
	setJob        = kernel.NewProc("SetInformationJobObject")
	assignJob     = kernel.NewProc("AssignProcessToJobObject")
	restrictToken = syscall.NewLazyDLL("advapi32.dll").NewProc("CreateRestrictedToken")
)

// Of job objects and tokens.
const (
	extendedLimits   = 9
	limitProcesses   = 0x8
	limitMemory      = 0x100
	dieOnException   = 0x400
	killOnClose      = 0x2000
	fewestPrivileges = 0x1 // no privilege but the one for moving through folders
	withoutAdmin     = 0x4 // as for programs that were not confirmed
	tokenAccess      = syscall.TOKEN_DUPLICATE | syscall.TOKEN_ASSIGN_PRIMARY | syscall.TOKEN_QUERY | syscall.TOKEN_ADJUST_DEFAULT
)

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobLimits struct {
	processTime, jobTime         int64
	flags                        uint32
	minimum, maximum             uintptr
	processes                    uint32
	affinity                     uintptr
	priority, scheduling         uint32
	counters                     [6]uint64
	processMemory, jobMemory     uintptr
	peakProcessMemory, peakOfJob uintptr
}

// runInJob runs a program in a job that this process is in, too: whatever the program starts is a member,
// and when this process ends, for whatever reason, Windows ends all of them.
func runInJob(limits string, args []string) (code int, err error) {
	if err := enterJob(limits); err != nil {
		return cannotRun, err
	}
	token, err := restrictedToken()
	if err != nil {
		return cannotRun, err
	}
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Token: token}})
	if err != nil {
		return cannotRun, err
	}
	state, err := p.Wait()
	if err != nil {
		return cannotRun, err
	}
	return state.ExitCode(), nil
}

// enterJob makes the job and enters it. The limits are processes and bytes of memory of each, 0 for none.
func enterJob(limits string) error {
	job, _, err := createJob.Call(0, 0)
	if job == 0 {
		return err
	}
	processes, memory, _ := strings.Cut(limits, ",")
	info := jobLimits{flags: killOnClose | dieOnException, processes: uint32(decimal(processes)), processMemory: uintptr(decimal(memory))}
	if info.processes != 0 {
		info.flags |= limitProcesses
		info.processes++ // this one
	}
	if info.processMemory != 0 {
		info.flags |= limitMemory
	}
	if ok, _, err := setJob.Call(job, extendedLimits, uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info)); ok == 0 {
		return err
	}
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return err
	}
	if ok, _, err := assignJob.Call(job, uintptr(self)); ok == 0 {
		return err
	}
	return nil
}

func decimal(text string) (n uint64) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// restrictedToken is this process's own, without privileges and without the group of administrators.
func restrictedToken() (syscall.Token, error) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, err
	}
	var own syscall.Token
	if err := syscall.OpenProcessToken(self, tokenAccess, &own); err != nil {
		return 0, err
	}
	defer func() { _ = own.Close() }()
	var less syscall.Token
	if ok, _, err := restrictToken.Call(uintptr(own), fewestPrivileges|withoutAdmin, 0, 0, 0, 0, 0, 0, uintptr(unsafe.Pointer(&less))); ok == 0 {
		return 0, err
	}
	return less, nil
}
