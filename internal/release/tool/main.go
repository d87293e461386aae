// Command tool is what scripts/release.sh needs beside a shell: lists of endpoints, of
// parts and of checksums, and the release key's signatures.
//
//	tool endpoints VERSION FOLDER [KEYFILE]     FOLDER/programs.json, signed when there is a key
//	tool parts PROGRAM LOCKFILE VERSION         what a program is made of, on standard output
//	tool sums FOLDER [KEYFILE]                  FOLDER/SHA256SUMS, signed when there is a key
//	tool zip FOLDER NAME SECONDS                FOLDER/NAME.zip of FOLDER/NAME, with one time for all files
//	tool key KEYFILE                            the key's public half
//	tool sshkey PUBLICKEY                       the same as OpenSSH writes it
//
// A key file has the seed of an Ed25519 key in base64, as 'parley machine update' takes it.
package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley.internal/internal/release"
	"parley.internal/protocol/kenny"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("endpoints, parts, sums, zip, key or sshkey")
	}
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch args[0] {
	case "endpoints":
		key, err := keyOf(arg(3))
		if err != nil {
			return err
		}
		return release.ListEndpoints(arg(2), arg(1), key)
	case "parts":
		text, err := release.Parts(arg(1), arg(2), arg(3))
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(append(text, '\n'))
		return err
	case "sums":
		key, err := keyOf(arg(2))
		if err != nil {
			return err
		}
		return sums(arg(1), key)
	case "zip":
		return release.Zip(arg(1), arg(2), arg(3))
	case "key":
		key, err := keyOf(arg(1))
		if err != nil || key == nil {
			return errors.Join(errors.New("name a file with a key"), err)
		}
		public, _ := key.Public().(ed25519.PublicKey)
		fmt.Fprintln(os.Stdout, kenny.FormatPublicKey(public))
		return nil
	case "sshkey":
		key, err := kenny.ParsePublicKey(arg(1))
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, release.SSHPublicKey(key))
		return nil
	}
	return fmt.Errorf("%q is nothing this tool does", args[0])
}

func sums(folder string, key ed25519.PrivateKey) error {
	if key != nil {
		return release.SignFolder(folder, key)
	}
	list, err := release.SumFolder(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, release.SumsFile), list, 0o644) //nolint:gosec // for everybody
}

// keyOf reads a key file; no file is no key.
func keyOf(path string) (ed25519.PrivateKey, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return kenny.ParseSeed(string(data))
}
