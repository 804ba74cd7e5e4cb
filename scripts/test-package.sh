#!/bin/sh
# Packs tstrace in a copy that was never built, installs the package into an empty folder, and runs it from there.
set -eu
cd "$(dirname "$0")/.."

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
mkdir "$prefix/clean"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$prefix/clean"
# Away from the checkout, so that nothing of it can be found by accident.
cd "$prefix/clean"
make --silent package
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$prefix/installed" --global ./build/tstrace-*.tgz
cd "$prefix"
rm -rf clean
du -sh "$prefix/installed" | sed "s|$prefix/||"
for part in LICENSE docs/tools/runqlat.md dist/THIRD-PARTY.txt; do
	test -s "$prefix/installed/lib/node_modules/tstrace/$part" || { echo "the package has no $part" >&2; exit 1; }
done
"$prefix/installed/bin/tstrace" offcputime -q 1 | "$prefix/installed/bin/flamegraph" >offcpu.svg
grep -q '<title>all (' offcpu.svg || { echo 'no picture came of offcputime | flamegraph' >&2; exit 1; }
result=$("$prefix/installed/bin/tstrace" runqlat --json 1 1)
echo "$result" | node -e '
	const [report] = require("fs").readFileSync(0, "utf8").trim().split("\n").map((line) => JSON.parse(line));
	if (report.tool !== "runqlat" || !(report.groups[0].count > 0)) throw new Error("no waits were seen");
	console.log(`package: runqlat saw ${report.groups[0].count} waits in ${report.duration_s} s`);
'
