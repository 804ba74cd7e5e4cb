// A program of Go whose threads are in known functions: t… call each other in ways that the test knows.
// "naps": they wait in the kernel; "spins": they run.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

var naps bool
var sink byte

//go:noinline
func tLeaf() {
	if naps {
		wait := syscall.NsecToTimespec(2_000_000)
		syscall.Nanosleep(&wait, nil)
		return
	}
	data := make([]byte, 4096)
	for until := time.Now().Add(2 * time.Millisecond); time.Now().Before(until); {
		sum := sha256.Sum256(data)
		copy(data, sum[:])
	}
	sink += data[0]
}

//go:noinline
func tRecurses(depth int) int {
	if depth == 0 {
		tLeaf()
		return 1
	}
	return tRecurses(depth-1) + 1
}

//go:noinline
func tDeep() { tRecurses(90) }

type shape interface{ tMethod() }
type square struct{ side [200]int }

//go:noinline
func (s square) tMethod() {
	tLeaf()
	sink += byte(s.side[7])
}

//go:noinline
func tInterface(it shape) { it.tMethod() }

//go:noinline
func tMethods() { tInterface(square{}) }

//go:noinline
func tGeneric[T any](some T) T {
	tLeaf()
	return some
}

//go:noinline
func tGenerics() { sink += byte(tGeneric(len(os.Args))) }

//go:noinline
func tPanics() {
	defer tRecovers()
	panic("on purpose")
}

//go:noinline
func tRecovers() {
	tLeaf()
	recover()
}

//go:noinline
func tReads(from int) {
	bytes := []byte{0}
	syscall.Read(from, bytes)
}

//go:noinline
func tWrites(to int) {
	tLeaf()
	syscall.Write(to, []byte{1})
}

// Makes the runtime collect garbage, on the stack of the scheduler.
//
//go:noinline
func tAllocates() {
	kept := map[int]string{}
	for i := 0; i < 3000; i++ {
		kept[i] = fmt.Sprint("text ", i)
	}
	tLeaf()
	sink += kept[5][0]
}

func often(works ...func()) {
	runtime.LockOSThread()
	for {
		for _, work := range works {
			work()
		}
	}
}

func main() {
	naps = os.Args[1] == "naps"
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		panic(err)
	}
	works := append([]func(){tDeep, tMethods, tGenerics, tPanics, tAllocates}, worksInC()...)
	go often(func() { tReads(ends[0]) })
	works = append(works, func() { tWrites(ends[1]) })
	if naps {
		for _, work := range works {
			go often(work)
		}
	} else {
		// One after the other, as they would leave nobody else a CPU.
		go often(works...)
	}
	fmt.Println("ready", os.Getpid(), os.Getpid())
	bytes := []byte{0}
	os.Stdin.Read(bytes)
}
