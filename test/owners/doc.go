// Package owners tests, on a real hub with several people, that each thing has an
// owner: nobody else reaches it with everyday rights, and secrets stay where they are.
package owners
