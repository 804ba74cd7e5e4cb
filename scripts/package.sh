#!/bin/sh
# Builds tstrace and packs it into build/tstrace-VERSION.tgz, which npm can install.
set -eu
cd "$(dirname "$0")/.."

mkdir -p build
rm -f build/tstrace-*.tgz
npm pack --silent --pack-destination build >/dev/null
package=$(ls build/tstrace-*.tgz)
echo "package: $package, $(du -k "$package" | cut -f 1) kB; to install it: npm install --global ./$package"
