/**
 * Libraries that are loaded while a process is traced, replaced under the same name, and written to while they are
 * mapped; and a program that becomes another one. No stack shows functions by another file's rows or names.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	closeSync,
	copyFileSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
	writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryBytes } from '../../src/elf/bytes.js';
import { Elf } from '../../src/elf/elf.js';
import { type JsonStack, stackReport } from './stacks.js';
import { Tracing, until } from './support.js';
import { switches } from './times.js';
import { assertTrue, userFrames, wayOf } from './torture-ways.js';

/** Of a thread, each 1 ms long. */
const WAITS = 500;
const EMULATED_MS = 20_000;

const built = (name: string) => resolve('build/workloads', name);

/** test/workloads/torture-loads.c, traced from before it loads anything; and a folder for its libraries. */
class Loads {
	readonly #lines: AsyncIterator<string>;
	readonly path: string;

	private constructor(
		private readonly child: ChildProcess,
		private readonly tracing: Tracing,
		readonly folder: string,
		lines: AsyncIterator<string>,
	) {
		this.#lines = lines;
		this.path = join(folder, 'libtorture.so');
	}

	static async start(t: TestContext): Promise<Loads> {
		const child = spawn(built('torture-loads'), { stdio: ['pipe', 'pipe', 'inherit'] });
		t.after(() => child.kill('SIGKILL'));
		const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
		await lines.next();
		const args = [
			'offcputime',
			'-v',
			'-L',
			'--exact',
			'--no-edges',
			'--json',
			'-p',
			`${child.pid}`,
		];
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-torture-'));
		t.after(() => rmSync(folder, { recursive: true }));
		const tracing = await Tracing.start(args);
		await tracing.says(/has read the unwind tables of/);
		return new Loads(child, tracing, folder, lines);
	}

	get pid(): number | undefined {
		return this.child.pid;
	}

	/** A new file of that name, with another one's contents. */
	replace(by: string): void {
		const temporary = join(this.folder, 'new');
		copyFileSync(by, temporary);
		renameSync(temporary, this.path);
	}

	/** Returns the number that it answers. */
	async tell(line: string): Promise<number> {
		this.child.stdin?.write(`${line}\n`);
		const { value } = await this.#lines.next();
		return Number(/^done (\d+)$/.exec(value)?.[1]);
	}

	/** Until each of its threads has waited many times more: new tables are there then, and walks go by them. */
	async waits(): Promise<void> {
		const { pid } = this.child;
		// The first thread waits for us.
		const tids = readdirSync(`/proc/${pid}/task`).filter((tid) => Number(tid) !== pid);
		assert.ok(tids.length > 0);
		const before = tids.map((tid) => switches(Number(tid)));
		// Where instructions are emulated, reading tables takes longer than that.
		if (process.env.TSTRACE_EMULATED) await sleep(EMULATED_MS);
		await until(() => tids.every((tid, i) => switches(Number(tid)) > (before[i] ?? 0) + WAITS));
	}

	async end(): Promise<readonly JsonStack[]> {
		const { stacks } = stackReport(await this.tracing.end('SIGINT'));
		const exited = once(this.child, 'exit');
		this.child.stdin?.end();
		this.child.kill('SIGKILL');
		await exited;
		return stacks;
	}
}

const OLD = built('libtorture-old.so');
const NEW = built('libtorture-new.so');

/** The ways of the two threads of a library; one is in the loader, which keeps what leads on where no rule finds it. */
const waysIn = (name: string) => [
	`t_1 t_enter t_inner_${name} t_once`,
	`t_by_loader * t_chosen_${name} t_inner_${name} t_once`,
];
const truthOf = (...names: readonly string[]) => {
	const ways = names.map(waysIn);
	return { whole: ways.map(([first = '']) => first), cut: ways.map(([, second = '']) => second) };
};

test('a library that is loaded, and another one of the same name beside it: each by its own rows and names', async (t) => {
	const loads = await Loads.start(t);
	loads.replace(OLD);
	await loads.tell(`load ${loads.path}`);
	await loads.waits();
	loads.replace(NEW);
	// The C library takes what it has loaded by the very same words.
	await loads.tell(`load ${loads.folder}//libtorture.so`);
	await loads.waits();
	assertTrue(await loads.end(), truthOf('old', 'new'));
});

test('two libraries in turn at one place: each stack by the rows of the one that is there', async (t) => {
	const loads = await Loads.start(t);
	const other = join(loads.folder, 'libother.so');
	copyFileSync(OLD, loads.path);
	copyFileSync(NEW, other);
	for (const path of [loads.path, other]) {
		await loads.tell(`load ${path}`);
		await loads.waits();
		await loads.tell('unload');
	}
	const { pid } = loads;
	const same = await loads.tell(`alternate ${loads.path} ${other}`);
	assert.ok(same > 500, `${same} of 600 are where the one before was`);
	const stacks = await loads.end();
	const naps = stacks.filter(
		({ key, frames }) => key.tid === pid && /nanosleep/.test(frames.join(' ')),
	);
	// The frames of one are 30 times as large as those of the other: by its rows nobody gets out.
	for (const stack of naps) {
		assert.equal(stack.cut, undefined, stack.frames.join(' '));
		assert.match(userFrames(stack).join(' '), /^_start __libc_start_main.* main alternate /);
	}
	const count = naps.reduce((sum, each) => sum + each.count, 0);
	// A nap may be over before the thread is off its CPU.
	assert.ok(count > 500, `${count} of 600`);
});

test('a library that is unloaded and gone, and a new file under its name: the names of one are not those of the other', async (t) => {
	const loads = await Loads.start(t);
	loads.replace(OLD);
	await loads.tell(`load ${loads.path}`);
	await loads.waits();
	await loads.tell('unload');
	rmSync(loads.path);
	// Which may have the number that the old one had.
	loads.replace(NEW);
	await loads.tell(`load ${loads.path}`);
	await loads.waits();
	const stacks = await loads.end();
	// Nobody has the old one any more: its functions have no names.
	const named = stacks.filter((stack) => !/libtorture\.so\+0x/.test(userFrames(stack).join(' ')));
	assert.ok(named.length < stacks.length);
	assertTrue(named, truthOf('new'));
	for (const stack of stacks) assert.doesNotMatch(wayOf(stack), /old/);
});

test('a library that is written to while it is mapped: walks go by its new rows, and names are those of neither', async (t) => {
	const loads = await Loads.start(t);
	const library = readFileSync(OLD);
	const { offset = 0, size_bytes = 0 } =
		new Elf(new MemoryBytes(library)).section('.eh_frame') ?? assert.fail('no .eh_frame');
	// Without rules, and with: its code stays as it is.
	writeFileSync(loads.path, Buffer.from(library).fill(0, offset, offset + size_bytes));
	await loads.tell(`load ${loads.path}`);
	await loads.waits();
	const fd = openSync(loads.path, 'r+');
	writeSync(fd, library, offset, size_bytes, offset);
	closeSync(fd);
	await loads.waits();
	const stacks = await loads.end();
	const inLibrary = stacks.filter((stack) =>
		/libtorture\.so\+0x/.test(userFrames(stack).join(' ')),
	);
	assert.ok(inLibrary.some(({ cut }) => cut));
	const whole = inLibrary.filter(({ cut }) => !cut);
	assert.ok(whole.length > 0, 'the new rows lead to the end');
	for (const stack of whole) {
		const frames = userFrames(stack).join(' ');
		assert.match(
			frames,
			/^(clone3 start_thread|(libc\.so\.6\+0x\S+ ?){2}) t_1( libtorture\.so\+0x\S+)+( (clock_)?nanosleep)*( __pthread_(en|dis)able_asynccancel)?$/,
		);
	}
	for (const stack of stacks) assert.doesNotMatch(wayOf(stack), /t_enter|t_inner|t_chosen/);
});

test('a program that becomes another one: the stacks of both are right', async (t) => {
	const loads = await Loads.start(t);
	loads.replace(OLD);
	await loads.tell(`load ${loads.path}`);
	await loads.waits();
	await loads.tell(`exec ${built('torture-throws')}`);
	await loads.waits();
	const { whole, cut } = truthOf('old');
	const leads = 't_thread t_catches t_between t_unwound';
	const thrown = [
		`${leads} t_throws t_once`,
		`${leads} t_destructor t_once`,
		't_thread t_catches t_once',
	];
	assertTrue(await loads.end(), { whole: [...whole, ...thrown], cut });
});
