// SPDX-License-Identifier: Apache-2.0
package main

import (
	"io"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"example.test/greet"
)

func TestModule(t *testing.T) {
	if greet.Greet() != "hello from a module" {
		t.Fatal(greet.Greet())
	}
}

// Each goroutine keeps a thread of its own.
func TestThreads(t *testing.T) {
	var sum int64
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func(number int64) {
			defer group.Done()
			runtime.LockOSThread()
			atomic.AddInt64(&sum, number*number)
		}(int64(i))
	}
	group.Wait()
	if sum != 328350 {
		t.Fatal(sum)
	}
}

func TestProcesses(t *testing.T) {
	output, err := exec.Command("sh", "-c", "echo $((40 + 2))").Output()
	if err != nil || string(output) != "42\n" {
		t.Fatal(string(output), err)
	}
}

func TestLoopback(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			io.WriteString(connection, "hello")
			connection.Close()
		}
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(connection)
	if err != nil || string(said) != "hello" {
		t.Fatal(string(said), err)
	}
}
