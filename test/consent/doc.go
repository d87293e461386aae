// Package consent holds what nobody sees from inside one package: whatever way a
// credential comes to a machine, the same question is asked.
package consent
