//go:build !cgo

package main

func worksInC() []func() { return nil }
