// Package clients shows what programs of others get from a real hub over OpenAI's wire: by hand-written
// requests in every make test, and with make test-foreign by the libraries that people use.
package clients
