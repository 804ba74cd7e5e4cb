/** From the table of faults to docs/faults.md, and from tests to their names: pure. */
import type { Fault } from './table.js';

const HEAD = `# Faults

What tstrace does when something goes wrong. Each row names a fault, what tstrace does, and the
tests that cause the fault. After each fault, the test asks the kernel what is left of tstrace: BPF
programs, maps and links, perf events, run-time statistics, and probes in the code of the traced
process. Nothing may be left. The traced process must do all its work and exit as usual.

\`make faults-doc\` writes this page from \`test/faults/table.ts\`. A unit test checks that every test
named here exists. The tests are in \`test/live/\`. Those in \`vm-cpus\` and \`vm-clock\` run in virtual
machines, with \`make test-kernels\`.

| fault | what tstrace does | tests |
| --- | --- | --- |`;

/** docs/faults.md */
export function page(faults: readonly Fault[]): string {
	const rows = faults.map(({ fault, does, tests }) => `| ${fault} | ${does} | ${cited(tests)} |`);
	return `${[HEAD, ...rows].join('\n')}\n`;
}

const cited = (tests: Fault['tests']): string =>
	Object.entries(tests)
		.map(([file, names]) => `\`${file}\`: ${names.map((name) => `“${name}”`).join(', ')}`)
		.join('; ');

const TEST = /\btest(?:InVm)?\(\s*(['"`])(.*?)\1/gs;

/** The names of the tests in a file, as they are written there: "${tool}, killed while it prints". */
export function testNames(source: string): string[] {
	return [...source.matchAll(TEST)].map(([, , name = '']) => name);
}
