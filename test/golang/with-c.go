package main

// void c_calls(int naps);
// void c_calls_back(void);
import "C"

//export goBack
func goBack() { tLeaf() }

//go:noinline
func tCallsC() {
	if naps {
		C.c_calls(1)
	} else {
		C.c_calls(0)
	}
}

//go:noinline
func tCalledBack() { C.c_calls_back() }

func worksInC() []func() { return []func(){tCallsC, tCalledBack} }
