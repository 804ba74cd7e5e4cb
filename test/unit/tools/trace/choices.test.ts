/** What the options of trace mean: calls, sizes; and what programs are told to take. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { indexesOf } from '../../../../src/bpf/calls/calls.js';
import { WallClock } from '../../../../src/bpf/wall-clock.js';
import { trace as layout } from '../../../../src/generated/trace.js';
import { kernelBtf } from '../../../../src/loader/kernel.js';
import { argumentOf } from '../../../../src/tools/trace/argument-kinds.js';
import { ENDS, parseChoice } from '../../../../src/tools/trace/call-choice.js';
import { flagsOf, flagsText, valuesOf } from '../../../../src/tools/trace/flag-names.js';
import { declaredIn, wordOf } from '../../../../src/tools/trace/kernel-formats.js';
import { KnownFiles } from '../../../../src/tools/trace/known-files.js';
import { parseBuffer } from '../../../../src/tools/trace/options.js';
import {
	type CallPlan,
	CallPlanner,
	encodePlan,
	namedIndexes,
} from '../../../../src/tools/trace/plans.js';
import { signalSetText } from '../../../../src/tools/trace/signals.js';
import { SIGNATURES, SIGNATURES_OF_32_BIT } from '../../../../src/tools/trace/signatures.js';
import { statusText } from '../../../../src/tools/trace/struct-text.js';

const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);

test('-e: words add up, "!" takes away', () => {
	const [read, write] = [indexesOf('read'), indexesOf('write')];
	assert.deepEqual(sorted(parseChoice('read,write')), sorted([...read, ...write]));
	assert.deepEqual(parseChoice('trace=read'), read);
	assert.deepEqual(parseChoice('write', read), [...read, ...write]);
	const without = parseChoice('!read,write');
	assert.deepEqual(sorted([...without, ...read, ...write]), sorted(namedIndexes()));
	assert.deepEqual(parseChoice('!write', parseChoice('read,write')), read);
	assert.deepEqual(parseChoice('none'), [ENDS]);
	assert.deepEqual(parseChoice('read,none'), [...read, ENDS]);
	assert.equal(parseChoice('all').length, namedIndexes().length);
	assert.ok(parseChoice('%network').length > 20);
	const refused = (text: string, says: RegExp) =>
		assert.throws(
			() => parseChoice(text),
			(error: Error) => error instanceof InvalidArgumentError && says.test(error.message),
		);
	refused('raed', /no system call or set "raed": did you mean read/);
	refused('read,!write', /give "!write" an -e of its own/);
});

test('--buffer: rounded up to a power of two', () => {
	const sizes = {
		'4K': 4096,
		'5k': 8192,
		'1': 4096,
		'128M': 2 ** 27,
		'1G': 2 ** 30,
		'100MB': 2 ** 27,
	};
	for (const [text, bytes] of Object.entries(sizes)) assert.equal(parseBuffer(text), bytes, text);
	for (const text of ['', '0', '2G', '-1', '1.5M', 'M', '1T'])
		assert.throws(() => parseBuffer(text), InvalidArgumentError, text);
});

/** Than the headers of some builds. */
const NEWER = [
	...['fchmodat2', 'statmount', 'cachestat', 'map_shadow_stack', 'mseal', 'open_tree_attr'],
	...['futex_wake', 'futex_wait', 'futex_requeue', 'listmount'],
	...['lsm_get_self_attr', 'lsm_set_self_attr', 'lsm_list_modules'],
	...['setxattrat', 'getxattrat', 'listxattrat', 'removexattrat'],
];

const KINDS =
	/^(fd|at|path|str|argv|in|out|outif|mqattr|vec|vecout|msg|msgs|sockaddr|sockaddrout|pollfds|epolled|sigset|sigsetout|flags|enum|sockopt|optval|optvalout|futextime|futexlast|fcntlarg|fdset|cpuset|cpusetout|strout|protocol|int|uint|size|off|long|hex|mode|openmode|ptr|sig)$/;

function checkWord(word: string, where: string): void {
	const { kind, detail } = argumentOf(word);
	assert.match(kind, KINDS, where);
	if (kind === 'flags') assert.ok(flagsOf(detail), where);
	if (kind === 'enum') assert.ok(valuesOf(detail), where);
}

test('every call of the table is a call, and its words are kinds that are known', () => {
	const planner = new CallPlanner(kernelBtf, { text: 32, files: true, nothing: false });
	for (const [name, words] of [...SIGNATURES, ...SIGNATURES_OF_32_BIT]) {
		if (process.arch === 'x64' && !NEWER.includes(name) && !/^arm_|sync_file_range2/.test(name))
			assert.notEqual(indexesOf(name).length, 0, name);
		assert.ok(words.filter((word) => !word.startsWith('=')).length <= 6, name);
		for (const word of words) {
			if (word.startsWith('=')) continue;
			checkWord(word, `${name}: ${word}`);
		}
	}
	for (const index of namedIndexes()) {
		const plan = planner.plan({ nr: index % 512, abi: index < 512 ? 'native' : '32-bit' });
		assert.ok(plan.captures.length <= layout.enums.capture_limit.CAPTURES, plan.name);
	}
});

test('32-bit calls: nothing is read by the layouts of 64 bits', () => {
	const planner = new CallPlanner(kernelBtf, { text: 32, files: true, nothing: false });
	const { CAPTURE_VECTORS, CAPTURE_MESSAGE, CAPTURE_MESSAGES } = layout.enums.capture_kind;
	const laidOut: number[] = [CAPTURE_VECTORS, CAPTURE_MESSAGE, CAPTURE_MESSAGES];
	const of32 = namedIndexes().filter((index) => index >= 512);
	assert.ok(process.arch !== 'x64' || of32.length > 350);
	for (const index of of32) {
		const plan = planner.plan({ nr: index % 512, abi: '32-bit' });
		for (const { argument, struct, capture } of plan.arguments) {
			assert.equal(struct, undefined, plan.name);
			assert.ok(!laidOut.includes(capture?.kind ?? 0), plan.name);
			// Their values have 32 bits.
			assert.ok(!['off', 'long'].includes(argument.kind), plan.name);
		}
	}
});

const kinds = ({ arguments: planned }: CallPlan) => planned.map(({ argument }) => argument.kind);

test('32-bit calls that have other arguments than the call of that name', () => {
	if (process.arch !== 'x64') return;
	const planner = new CallPlanner(kernelBtf, { text: 32, files: false, nothing: false });
	// Numbers: arch/x86/entry/syscalls/syscall_32.tbl.
	const of = (nr: number) => planner.plan({ nr, abi: '32-bit' });
	assert.deepEqual([of(90).name, kinds(of(90))], ['mmap (32-bit)', ['ptr']]);
	assert.deepEqual([of(82).name, kinds(of(82))], ['select (32-bit)', ['ptr']]);
	assert.deepEqual(kinds(of(192)), ['ptr', 'size', 'flags', 'flags', 'fd', 'hex']);
	assert.equal(of(192).returns, 'narrow address');
	assert.deepEqual(kinds(of(19)), ['fd', 'int', 'enum']);
	assert.deepEqual(kinds(of(180)), ['fd', 'out', 'size', 'hex', 'hex', 'hex']);
	assert.deepEqual(kinds(of(345)), ['fd', 'ptr', 'int', 'flags']);
	assert.deepEqual(kinds(of(370)), ['fd', 'ptr', 'flags']);
	assert.deepEqual(kinds(of(195)), ['path', 'ptr']);
	assert.deepEqual(kinds(of(5)), ['path', 'flags', 'openmode']);
});

test('a plan, as programs read it', () => {
	const planner = new CallPlanner(kernelBtf, { text: 32, files: true, nothing: false });
	const [index = 0] = indexesOf('openat');
	const bytes = encodePlan(planner.plan({ nr: index, abi: 'native' }));
	const { fields, size } = layout.structs.call_plan;
	assert.equal(bytes.length, size);
	assert.deepEqual(
		[
			fields.arguments,
			fields.captures,
			fields.at_exit,
			fields.replaces_memory,
			fields.descriptors,
		].map(({ offset }) => bytes[offset]),
		[4, 3, 1, 0, 0],
	);
	const [execve = 0] = indexesOf('execve');
	assert.equal(
		encodePlan(planner.plan({ nr: execve, abi: 'native' }))[fields.replaces_memory.offset],
		1,
	);
	const [dup2 = 0] = indexesOf('dup3');
	assert.equal(encodePlan(planner.plan({ nr: dup2, abi: 'native' }))[fields.descriptors.offset], 3);
	const none = new CallPlanner(kernelBtf, { text: 32, files: true, nothing: true });
	assert.equal(none.plan({ nr: index, abi: 'native' }).captures.length, 0);
});

const FORMAT = `name: sys_enter_openat
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:int dfd;	offset:16;	size:8;	signed:0;
	field:const char * filename;	offset:24;	size:8;	signed:0;
	field:struct stat * statbuf;	offset:32;	size:8;	signed:0;
	field:const struct __kernel_timespec * times;	offset:40;	size:8;	signed:0;

print fmt: "dfd: 0x%08lx", ((unsigned long)(REC->dfd))
`;

test("the kernel's own formats: names and types of arguments, and what they are", () => {
	const declared = declaredIn(FORMAT);
	assert.deepEqual(declared, [
		{ type: 'int', name: 'dfd' },
		{ type: 'const char *', name: 'filename' },
		{ type: 'struct stat *', name: 'statbuf' },
		{ type: 'const struct __kernel_timespec *', name: 'times' },
	]);
	assert.deepEqual(declared.map(wordOf), ['at', 'path', 'out/stat', 'in/__kernel_timespec']);
	const word = (type: string, name: string) => wordOf({ type, name });
	assert.equal(word('unsigned int', 'fd'), 'fd');
	assert.equal(word('umode_t', 'mode'), 'mode');
	assert.equal(word('const char *', 'key'), 'str');
	assert.equal(word('void *', 'addr'), 'ptr');
	assert.equal(word('unsigned int', 'flags'), 'hex');
	assert.equal(word('size_t', 'len'), 'size');
	assert.equal(word('loff_t', 'offset'), 'off');
	assert.equal(word('uid_t', 'uid'), 'uint');
	assert.equal(word('pid_t', 'pid'), 'int');
	assert.deepEqual(declaredIn(''), []);
});

test('bits by name, on both architectures', () => {
	const open = (value: number, arch: string) => {
		const flags = flagsOf('open', arch);
		return flags && flagsText(flags, value);
	};
	assert.equal(open(0o2000000, 'x64'), 'O_RDONLY|O_CLOEXEC');
	assert.equal(open(0o4010002, 'x64'), 'O_RDWR|O_SYNC');
	assert.equal(open(0o200000, 'x64'), 'O_RDONLY|O_DIRECTORY');
	assert.equal(open(0o40000, 'arm64'), 'O_RDONLY|O_DIRECTORY');
	assert.equal(open(0o3, 'x64'), '0x3');
	assert.equal(open(0x4000_0001, 'x64'), 'O_WRONLY|0x40000000');
	const text = (name: string, value: number) => {
		const flags = flagsOf(name);
		return flags && flagsText(flags, value);
	};
	assert.equal(text('prot', 0), 'PROT_NONE');
	assert.equal(text('access', 0), 'F_OK');
	assert.equal(text('socket', 0o2000001), 'SOCK_STREAM|SOCK_CLOEXEC');
	assert.equal(text('clone', 0x11 | 0x80000000), 'SIGCHLD|CLONE_IO');
	assert.equal(text('msg', 0), '0');
	assert.equal(flagsOf('nothing'), undefined);
});

test('sets of signals, and what wait() returns', () => {
	assert.equal(signalSetText(0, 0), '[]');
	assert.equal(signalSetText((1 << 1) | (1 << 16), 0), '[INT CHLD]');
	assert.equal(signalSetText(0xffff_ffff, 0xffff_ffff), '~[]');
	assert.equal(signalSetText(~(1 << 8) >>> 0, 0xffff_ffff), '~[KILL]');
	assert.equal(statusText(9), '{WIFSIGNALED(s) && WTERMSIG(s) == 9}');
	assert.equal(statusText(0x8b), '{WIFSIGNALED(s) && WTERMSIG(s) == 11 && WCOREDUMP(s)}');
	assert.equal(statusText(0x137f), '{WIFSTOPPED(s) && WSTOPSIG(s) == 19}');
	assert.equal(statusText(0xffff), '{WIFCONTINUED(s)}');
});

test('files: the oldest that nobody used goes first', () => {
	const files = new KnownFiles(3);
	for (const id of [1, 2, 3]) files.put(id, `/${id}`);
	files.of(1);
	files.put(4, '/4');
	assert.deepEqual(
		[1, 2, 3, 4].map((id) => files.textOf(id)),
		['/1', undefined, '/3', '/4'],
	);
	files.put(5, '/5');
	files.put(6, '/6');
	assert.deepEqual([1, 3, 4, 5, 6].map((id) => files.textOf(id)).filter(Boolean).length, 3);
});

test('the clock: to some microseconds, the same until somebody sets it', () => {
	let monotonic = 1000;
	let offset = 5_000_000.25;
	const clock = new WallClock(
		() => {
			monotonic += 0.125;
			return Math.floor(monotonic + offset);
		},
		() => monotonic,
	);
	const epoch = clock.epochMs();
	assert.ok(Math.abs(epoch - offset) <= 0.125, `${epoch}`);
	monotonic += 12_345.678;
	assert.equal(clock.epochMs(), epoch);
	offset += 3_600_000;
	assert.ok(Math.abs(clock.epochMs() - offset) <= 1.2);
});
