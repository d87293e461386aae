// Package release is what a release has beside its programs: a list of checksums, the
// list's signature by the release key, and a list of what the programs are made of.
//
// The key is the one endpoints trust for updates. The list is signed twice, in the two
// forms that a bare machine can check without us: the plain Ed25519 signature (openssl) and
// the one of OpenSSH (ssh-keygen), because macOS has no openssl that knows Ed25519.
//
//	SHA256SUMS         what sha256sum writes
//	SHA256SUMS.sig     base64 Ed25519 over its bytes
//	SHA256SUMS.sshsig  the same by the same key, for ssh-keygen -Y verify -n parley-release
//
// A list begins with a hexadecimal digit and the message of an update with another label
// ([kenny.ReleaseMessage]), so neither signature can pass for the other.
package release
