#!/bin/sh
# clang, by whatever name it is installed; 19 is what we build and test with.
exec "${CLANG:-$(command -v clang-19 || command -v clang)}" "$@"
