/** The command line: output, files, help. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HistogramLogReader } from 'hdr-histogram-js';
import { reportsOf } from './reports.js';
import { tstrace } from './support.js';

test('text goes to stdout, all else to stderr; -q leaves only the result; -v says why', () => {
	const plain = tstrace(['runqlat', '0.2', '1']);
	assert.match(plain.stdout, /^\n {5}usecs {15}: count {4}distribution\n/);
	assert.match(plain.stderr, /^Tracing run queue latency\.\.\.\n/);
	assert.match(
		plain.stderr,
		/^cost: \d+\.\d\d % of one CPU on average \(about [\d,]+ program runs of .*\)$/m,
	);
	const quiet = tstrace(['runqlat', '-q', '0.2', '1']).stderr;
	assert.doesNotMatch(quiet, /Tracing|cost/);
	const verbose = tstrace(['runqlat', '-v', '0.2', '1'], { TSTRACE_FORCE: 'hash' }).stderr;
	assert.match(verbose, /times waits with hash: forced by TSTRACE_FORCE/);
	const stamped = tstrace(['runqlat', '-T', '-m', '0.2', '2']).stdout;
	assert.equal(stamped.match(/^\d\d:\d\d:\d\d$/gm)?.length, 2);
	assert.match(stamped, /msecs/);
});

test('a log that cannot be written does not take the result with it', () => {
	const { status, stdout, stderr } = tstrace(['runqlat', '--hdr', '/dev/full', '0.3', '1']);
	assert.equal(status, 1);
	assert.match(stderr, /the disk is full/);
	assert.match(stdout, /count/);
});

test('-o and --hdr write files', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-'));
	const [json, hdr] = [join(folder, 'out.json'), join(folder, 'log.hlog')];
	try {
		const args = ['runqlat', '--json', '--split', '-o', json, '--hdr', hdr, '0.3', '2'];
		assert.equal(tstrace(args).stdout, '');
		const groups = reportsOf(readFileSync(json, 'utf8')).flatMap((report) => report.groups);
		const reader = new HistogramLogReader(readFileSync(hdr, 'utf8'));
		for (const group of groups) {
			const histogram = reader.nextIntervalHistogram();
			assert.equal(histogram?.totalCount, group.count);
			assert.equal(histogram?.tag, `kind=${group.key.kind}`);
		}
		assert.equal(reader.nextIntervalHistogram(), null);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('names that attack the terminal do not reach it', () => {
	const script = "printf '\\033[31m\\233x' > /proc/self/comm; sleep 0.02; sleep 0.02; :";
	const args = ['runqlat', '-P', '--follow', '--', 'bash', '-c', script];
	for (const more of [[], ['--json']]) {
		const { stdout } = tstrace([...args.slice(0, 1), ...more, ...args.slice(1)]);
		assert.doesNotMatch(stdout, /[^\P{Cc}\n]/u);
		assert.match(stdout, /\[31m/);
	}
});

test('help fits 80 columns; --version says the version', () => {
	for (const args of [['--help'], ['runqlat', '--help'], ['help', 'runqlat']]) {
		const { status, stdout, stderr } = tstrace(args);
		assert.equal(status, 0);
		assert.equal(stderr, '');
		for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
	}
	const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
	assert.equal(tstrace(['--version']).stdout, `${version}\n`);
	const alone = tstrace([]);
	assert.equal(alone.status, 2);
	assert.match(alone.stderr, /Usage: tstrace TOOL/);
});
