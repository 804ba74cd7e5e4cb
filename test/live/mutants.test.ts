/** Whatever a test does to `make mutants`, it is ended and gone afterwards, and said. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runInGroup } from '../mutants/run-group.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { hasEnded, MARK, TSTRACE } from './support.js';

// What we start is to be told from ourselves, and from who started us.
process.env[MARK] = randomUUID();
const home = process.cwd();
const scratch = mkdtempSync(join(tmpdir(), 'tstrace-mutants-'));
mkdirSync(join(scratch, 'tmp'));
process.chdir(scratch);
after(() => {
	process.chdir(home);
	rmSync(scratch, { recursive: true });
});

/** None of these takes a tenth of it. */
const LIMIT_MS = 60_000;

/** Runs a script that writes the PID of what it leaves behind into the file `pid`. */
const script = (text: string, limit_ms = LIMIT_MS) =>
	runInGroup(['--input-type=module', '--eval', text], limit_ms);
const pidLeft = () => Number(readFileSync('pid', 'utf8'));

/** A process that goes on without its parent, in a session of its own. */
const detached = (file: string, args: readonly string[], stdio: string) => `
	import { spawn } from 'node:child_process';
	import { once } from 'node:events';
	import { writeFileSync } from 'node:fs';
	const child = spawn(${JSON.stringify(file)}, ${JSON.stringify(args)}, { detached: true, stdio: ${stdio} });
	writeFileSync('pid', String(child.pid));
`;

test('one that ends as it should: its status and its words, and nothing was left', async () => {
	const { status, hung, left, said } = await script('console.log("said"); process.exitCode = 3;');
	assert.deepEqual(
		{ status, hung, left, said },
		{ status: 3, hung: false, left: [], said: 'said\n' },
	);
});

test('one that never ends is ended, with its children', async () => {
	const child = detached('sleep', ['1000'], "'inherit'").replace(
		'detached: true',
		'detached: false',
	);
	const { hung, status } = await script(`${child} setInterval(() => undefined, 1000);`, 10_000);
	assert.ok(hung);
	assert.equal(status, null);
	assert.ok(hasEnded(pidLeft()));
});

test('one that a signal ends', async () => {
	const { hung, status, left } = await script("process.kill(process.pid, 'SIGKILL'); for (;;);");
	assert.deepEqual({ hung, status, left }, { hung: false, status: null, left: [] });
});

test('a process that it leaves behind, with its output still open, is named and ended', async () => {
	const { status, left } = await script(
		`${detached('sleep', ['1000'], "'inherit'")} process.exit();`,
	);
	assert.equal(status, 0);
	assert.deepEqual(left, ['processes: sleep']);
	assert.ok(hasEnded(pidLeft()));
});

test('programs that it leaves attached are released', async () => {
	const before = kernelObjects();
	const args = ['runqlat', '1000'];
	const { status, left, said } = await script(`
		${detached(TSTRACE, args, "['ignore', 'ignore', 'pipe']")}
		let said = '';
		for await (const text of child.stderr) if ((said += text).includes('Tracing')) break;
		console.log(said);
		process.exit(said.includes('Tracing') ? 0 : 1);
	`);
	assert.equal(status, 0, said);
	assert.match(left.join(), /^processes: /);
	assert.ok(hasEnded(pidLeft()));
	await untilReleased(before);
});

test('a mount that it leaves behind is taken away', async () => {
	const { status, left } = await script(`
		import { execFileSync } from 'node:child_process';
		import { mkdtempSync } from 'node:fs';
		import { join } from 'node:path';
		execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', mkdtempSync(join(process.env.TMPDIR, 'x'))]);
	`);
	assert.equal(status, 0);
	assert.deepEqual(left, ['mounts: 1']);
	assert.ok(!readFileSync('/proc/self/mounts', 'utf8').includes(scratch));
});
