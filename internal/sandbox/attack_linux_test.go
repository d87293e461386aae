package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackVariable makes this test program a hostile one: it tries what the variable names, with
// its argument, and ends well only if that worked.
const attackVariable = "PARLEY_TEST_ATTACK"

func attack(name string, args []string) int {
	did, known := attacks[name]
	if !known {
		fmt.Println("no such attack:", name)
		return 99
	}
	if err := did(args...); err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println("worked")
	return 0
}

var attacks = map[string]func(...string) error{
	"tcp":      func(a ...string) error { return dialAnd("tcp", a[0]) },
	"udp":      func(a ...string) error { return dialAnd("udp", a[0]) },
	"abstract": func(a ...string) error { return dialAnd("unix", "@"+a[0]) },
	"dns": func(...string) error {
		_, err := net.LookupHost("example.org")
		return err
	},
	"socket": func(a ...string) error {
		family, kind, protocol := numberOf(a[0]), numberOf(a[1]), numberOf(a[2])
		fd, err := syscall.Socket(family, kind, protocol)
		if err == nil {
			_ = syscall.Close(fd)
		}
		return err
	},
	// call tries a system call with harmless arguments; only a refusal by the box counts as one.
	"call": func(a ...string) error {
		var zero [256]byte
		_, _, errno := syscall.Syscall6(uintptr(numberOf(a[0])), uintptr(numberOf(a[1])), uintptr(unsafe.Pointer(&zero)), 0, 0, 0, 0)
		if errno == syscall.EACCES || errno == syscall.EPERM || errno == syscall.ENOSYS {
			return errno
		}
		return nil
	},
	"fastopen": func(a ...string) error {
		host, port, _ := net.SplitHostPort(a[0])
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		to := &syscall.SockaddrInet4{Port: numberOf(port)}
		copy(to.Addr[:], net.ParseIP(host).To4())
		return syscall.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to)
	},
	"setuid": func(a ...string) error {
		_ = os.WriteFile("program", []byte("#!/bin/sh"), 0o755)
		if a[0] == "open" {
			fd, err := syscall.Open("new", syscall.O_CREAT|syscall.O_WRONLY, 0o4755)
			if err == nil {
				_ = syscall.Close(fd)
			}
			return err
		}
		if a[0] == "mknod" {
			return syscall.Mknod("made", syscall.S_IFREG|0o4755, 0)
		}
		return syscall.Chmod("program", 0o4755)
	},
	"trace": func(a ...string) error { return syscall.PtraceAttach(numberOf(a[0])) },
	"space": func(...string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"mount": func(a ...string) error { return syscall.Mount("none", a[0], "tmpfs", 0, "") },
	"bomb":  func(a ...string) error { return forkUntil(numberOf(a[0])) },
	"memory": func(a ...string) error {
		size := numberOf(a[0]) << 20
		_, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		return err
	},
	"http":    func(a ...string) error { return fetch(a[0]) },
	"connect": func(a ...string) error { return throughProxy(a[0]) },
	"exec": func(a ...string) error {
		out, err := exec.Command(a[0], a[1:]...).CombinedOutput()
		fmt.Print(string(out))
		return err
	},
}

func numberOf(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func dialAnd(network, address string) error {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	_, err = c.Write([]byte("stolen"))
	_ = c.Close()
	return err
}

// forkUntil starts processes that stay, and fails where the system stops it in time.
func forkUntil(most int) error {
	for range most {
		cmd := exec.Command("/bin/sleep", "600")
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	return nil
}

// fetch gets an address as ordinary programs do, by the proxy of the environment.
func fetch(address string) error {
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}).Get(address)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%d %s\n", resp.StatusCode, text)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return err
}

// throughProxy connects to a host by CONNECT and says hello.
func throughProxy(address string) error {
	proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || proxy.Host == "" {
		return fmt.Errorf("no proxy: %q, %w", os.Getenv("HTTPS_PROXY"), err)
	}
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		return err
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if proxy.User != nil {
		as := &http.Request{Header: http.Header{}}
		password, _ := proxy.User.Password()
		as.SetBasicAuth(proxy.User.Username(), password)
		req.Header.Set("Proxy-Authorization", as.Header.Get("Authorization"))
	}
	if err := req.Write(c); err != nil {
		return err
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if !strings.HasSuffix(string(answer), " 200") {
		return fmt.Errorf("the proxy said %q", answer)
	}
	return c.Close()
}
