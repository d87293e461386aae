package update

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"runtime"
)

// checkFormat refuses a file that is no program for this system and processor.
func checkFormat(path string) error { return checkFormatFor(path, runtime.GOOS, runtime.GOARCH) }

func checkFormatFor(path, goos, goarch string) error {
	switch goos {
	case "linux":
		return checkELF(path, goarch)
	case "windows":
		return checkPE(path, goarch)
	case "darwin":
		return checkMachO(path, goarch)
	}
	return fmt.Errorf("no format is known for %s", goos)
}

var errArch = errors.New("made for another processor")

func checkELF(path, goarch string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	want, ok := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "386": elf.EM_386, "arm": elf.EM_ARM}[goarch]
	if !ok || f.Machine != want || f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return errArch
	}
	return nil
}

func checkPE(path, goarch string) error {
	f, err := pe.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	want, ok := map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64, "386": pe.IMAGE_FILE_MACHINE_I386}[goarch]
	if !ok || f.Machine != want {
		return errArch
	}
	return nil
}

func checkMachO(path, goarch string) error {
	f, err := macho.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	want, ok := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[goarch]
	if !ok || f.Cpu != want || f.Type != macho.TypeExec {
		return errArch
	}
	return nil
}
