/** Who writes into a pipe: programs named tstrace that print what they are told, and shells between. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { tstraceArguments } from '../../../../src/converters/flamegraph/pipe-writer.js';
import { writeProgram } from './programs.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-writer-'));
after(() => rmSync(folder, { recursive: true }));

/** More than a pipe holds, so that whoever writes it is there still when it is read. */
const LINES = 4000;
const TEXT = `main;work;${'x'.repeat(100)} 1\n`.repeat(LINES);
writeFileSync(join(folder, 'text'), TEXT);
writeFileSync(join(folder, 'report'), 'nothing to draw\n'.repeat(4 * LINES));
writeProgram(
	join(folder, 'tstrace'),
	`printf . >> "\${0%/*}/started"
file=text
case " $* " in *' --folded '*) ;; ' memleak '*) file=report ;; esac
text=$(< "\${0%/*}/$file")
printf '%s\\n' "$text"
`,
);

/** What a picture says of itself, drawn by this pipe line. */
function drawn(command: string): { title?: string; total?: string; by?: string; stderr: string } {
	const { stdout, stderr } = spawnSync('bash', ['-c', command], {
		encoding: 'utf8',
		cwd: folder,
		env: { ...process.env, PATH: `${folder}:${resolve('bin')}:${process.env.PATH}` },
		stdio: ['ignore', 'pipe', 'pipe'],
		maxBuffer: 1 << 28,
	});
	const found = (pattern: RegExp) => pattern.exec(stdout)?.[1];
	const title = found(/<title>([^<(]*)<\/title>/);
	const total = found(/<title>all \((.*?), 100/);
	const by = found(/class="subtitle"[^>]*>([^<]*)/);
	return { ...(title && { title }), ...(total && { total }), ...(by && { by }), stderr };
}

const OFF_CPU = { title: 'Off-CPU Time Flame Graph', total: '4.00 ms', stderr: '' };
const OFFCPUTIME = { ...OFF_CPU, by: 'tstrace offcputime -p 1' };
const UNKNOWN = { title: 'Flame Graph', total: '4,000', stderr: '' };

for (const [command, expected] of [
	['tstrace offcputime -p 1 | flamegraph', OFFCPUTIME],
	[
		'tstrace profile | flamegraph',
		{ title: 'CPU Flame Graph', total: '4,000 samples', by: 'tstrace profile', stderr: '' },
	],
	[
		'tstrace memleak --folded | flamegraph',
		{
			title: 'Memory Flame Graph',
			total: '4,000 bytes',
			by: 'tstrace memleak --folded',
			stderr: '',
		},
	],
	['env A=1 timeout 60 tstrace offcputime -p 1 | flamegraph', OFFCPUTIME],
	['(tstrace offcputime -p 1; true) | flamegraph', OFFCPUTIME],
	['{ cat /dev/null; sh -c "tstrace offcputime -p 1; true"; } | flamegraph', OFFCPUTIME],
	['flamegraph <(tstrace offcputime -p 1)', OFFCPUTIME],
	['tstrace offcputime -p 1 | flamegraph --title T --countname us', { ...OFFCPUTIME, title: 'T' }],
	// Whoever is between may have changed what it is; two tools have not one unit.
	['tstrace offcputime | tee /dev/null | flamegraph', UNKNOWN],
	['tstrace runqlat | flamegraph', UNKNOWN],
	['cat text | flamegraph', UNKNOWN],
	['flamegraph < text', UNKNOWN],
	['tstrace offcputime | flamegraph text -', { ...UNKNOWN, total: '8,000' }],
] as const) {
	test(command, () => assert.deepEqual(drawn(command), expected));
}

test('two tools at once have not one unit', () => {
	const both = ': > started; (tstrace offcputime & tstrace profile; wait) | {';
	const started = "timeout 60 sh -c 'until [ $(wc -c < started) -ge 2 ]; do :; done'";
	const { title, total } = drawn(`${both} ${started} && flamegraph -q; }`);
	assert.equal(title, 'Flame Graph');
	assert.match(total ?? '', /^[\d,]+$/);
});

test('a report is no stacks: what to type instead', () => {
	const { title, stderr } = drawn('tstrace memleak -p 1 | flamegraph');
	assert.equal(title, undefined);
	assert.match(
		stderr,
		/^tstrace flamegraph: standard input is a text report, not stacks; to draw them: tstrace memleak --folded … \| flamegraph\n$/,
	);
});

test('which command lines run tstrace', () => {
	const argumentsIn = (line: string) => tstraceArguments(line.split(' '))?.join(' ');
	assert.equal(argumentsIn('tstrace offcputime 5'), 'offcputime 5');
	assert.equal(argumentsIn('node /usr/lib/x/bin/tstrace offcputime 5'), 'offcputime 5');
	assert.equal(argumentsIn('/usr/bin/sudo -E nice -n 5 tstrace profile'), 'profile');
	assert.equal(argumentsIn('ssh -T web1 tstrace profile 5'), 'profile 5');
	for (const other of [
		'grep -v tstrace offcputime',
		'vi tstrace',
		'sh',
		'',
		'tee tstrace profile',
		'tstraced offcputime',
	]) {
		assert.equal(argumentsIn(other), undefined, other);
	}
});
