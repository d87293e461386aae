package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// updateFlags are the flags of machine update.
type updateFlags struct {
	all                              bool
	tag, binary, signKey, newVersion string
}

func newMachineUpdate(g *globals) *cobra.Command {
	var f updateFlags
	cmd := &cobra.Command{
		Use: "update [ID]", Short: "Update the endpoint of a machine, of a tag, or of all", Args: cobra.MaximumNArgs(1),
		Long: `Update endpoints. One machine at once; --tag and --all in waves: one, a tenth,
the rest, and no further when more than 5 % of a wave fail.

A person is asked in the inbox before anything is sent, unless the token has
fleet:unattended; the command waits for the answer.

With --binary an own build is signed with --sign-key (a base64 Ed25519 seed) and
given to the hub first.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ways := len(args)
			for _, given := range []bool{f.all, f.tag != ""} {
				if given {
					ways++
				}
			}
			if ways != 1 && (ways != 0 || f.binary == "") {
				return usageError("name a machine, or --tag, or --all")
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return g.update(ctx, cmd, c, f, args) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "every machine")
	flags.StringVar(&f.tag, "tag", "", "every machine with this tag")
	flags.StringVar(&f.binary, "binary", "", "an own build to hand out")
	flags.StringVar(&f.signKey, "sign-key", "", "file with the release key that signs it")
	flags.StringVar(&f.newVersion, "version", "", "the build's version (default: what it says itself), or the one to hand out")
	return jsonFlag(cmd, g)
}

func (g *globals) update(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, f updateFlags, args []string) error {
	version := f.newVersion
	if f.binary != "" {
		added, err := addBinary(ctx, c.Patient(), f)
		if err != nil {
			return err
		}
		version = added.Version
		if len(args) == 0 && !f.all && f.tag == "" {
			return g.show(cmd, added, func(p *printer) { p.line(added.Platform + " " + added.Version + " " + added.SHA256) })
		}
	}
	if len(args) == 1 {
		done, err := hubapi.Call(ctx, c.Patient(), rest.UpdateMachine, rest.UpdateRequest{ID: args[0], Body: rest.Version{Version: version}})
		if err != nil {
			return callFailed(err)
		}
		return g.show(cmd, done, func(p *printer) { p.line("staged " + done.Version) })
	}
	r, err := hubapi.Call(ctx, c.Patient(), rest.StartRollout, rest.RolloutRequest{All: f.all, Tag: f.tag, Version: version})
	if err != nil {
		return callFailed(err)
	}
	return g.show(cmd, r, func(p *printer) {
		p.line(r.ID)
		p.note("%d machines to %s; the page shows how it goes", len(r.Machines), r.Version)
	})
}

// addBinary signs a build and gives it to the hub.
func addBinary(ctx context.Context, c *hubapi.Client, f updateFlags) (b rest.Binary, err error) {
	if f.signKey == "" {
		return b, usageError("an own build needs --sign-key")
	}
	seed, err := os.ReadFile(f.signKey)
	if err != nil {
		return b, err
	}
	key, err := kenny.ParseSeed(string(seed))
	if err != nil {
		return b, fmt.Errorf("%s: %w", f.signKey, err)
	}
	platform, err := platformOf(f.binary)
	if err != nil {
		return b, err
	}
	version := f.newVersion
	if version == "" {
		if version, err = versionOf(ctx, f.binary); err != nil {
			return b, err
		}
	}
	sum, err := sumOf(f.binary)
	if err != nil {
		return b, err
	}
	public, _ := key.Public().(ed25519.PublicKey)
	file, err := os.Open(f.binary)
	if err != nil {
		return b, err
	}
	defer func() { _ = file.Close() }()
	return hubapi.Call(ctx, c, rest.AddBinary, rest.BinaryUpload{
		Platform: platform, Version: version, Key: kenny.FormatPublicKey(public), Body: file,
		Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(key, kenny.ReleaseMessage(version, platform, sum))),
	})
}

func sumOf(path string) (total [sha256.Size]byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return total, err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return total, err
	}
	sum.Sum(total[:0])
	return total, nil
}

// platformOf reads from a program's header what it runs on.
func platformOf(path string) (string, error) {
	if f, err := elf.Open(path); err == nil {
		defer func() { _ = f.Close() }()
		return named(path, "linux", map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm"}[f.Machine])
	}
	if f, err := macho.Open(path); err == nil {
		defer func() { _ = f.Close() }()
		return named(path, "darwin", map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu])
	}
	if f, err := pe.Open(path); err == nil {
		defer func() { _ = f.Close() }()
		return named(path, "windows", map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_I386: "386"}[f.Machine])
	}
	return "", fmt.Errorf("%s is not a program of Linux, macOS or Windows", path)
}

func named(path, system, arch string) (string, error) {
	if arch == "" {
		return "", fmt.Errorf("%s is for a processor that is not known here", path)
	}
	return system + "-" + arch, nil
}

// versionOf asks a program that runs here.
func versionOf(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "version").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 2 {
		return "", usageError("this machine cannot run %s to ask its version: give --version", path)
	}
	return words[1], nil
}
