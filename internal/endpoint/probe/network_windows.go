package probe

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// nameServers asks the adapters that are up.
func nameServers(context.Context) ([]string, error) {
	first, err := adapters()
	if err != nil {
		return nil, fmt.Errorf("adapters: %w", err)
	}
	var out []string
	for a := first; a != nil; a = a.Next {
		if a.OperStatus != windows.IfOperStatusUp {
			continue
		}
		for d := a.FirstDnsServerAddress; d != nil; d = d.Next {
			if ip := d.Address.IP(); ip != nil && !ip.IsUnspecified() {
				out = append(out, ip.String())
			}
		}
	}
	return out, nil
}

func adapters() (*windows.IpAdapterAddresses, error) {
	size := uint32(16 << 10)
	for {
		buf := make([]byte, size)
		first := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buf[0]))
		err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, windows.GAA_FLAG_INCLUDE_PREFIX, 0, first, &size)
		if err == nil {
			return first, nil
		}
		if !errors.Is(err, windows.ERROR_BUFFER_OVERFLOW) {
			return nil, err
		}
	}
}
