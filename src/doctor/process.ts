/** What can be seen of one process: unwind tables, frame pointers, symbols, JIT maps. */
import { basename } from 'node:path';
import type { FileBytes } from '../elf/bytes.js';
import { Elf } from '../elf/elf.js';
import { silentMounts } from '../proc/answers.js';
import type { MapsEntry } from '../proc/maps.js';
import { silentMemories, silentText } from '../proc/memory-lock.js';
import type { Mount } from '../proc/mounts.js';
import { openRegular, readFile } from '../proc/open.js';
import { exeOf } from '../proc/process-facts.js';
import { cacheFolder, DebugFileCache } from '../symbolize/debuginfod/cache.js';
import { mappedFiles, pathTo } from '../symbolize/mappings/code-files.js';
import { openDebugFile } from '../symbolize/symbols/debug-files.js';
import { hasSymbolTable } from '../symbolize/symbols/functions.js';
import { installCommand } from '../symbolize/symbols/packages.js';
import { LIBC } from '../symbolize/walks/c-library.js';
import {
	countFrames,
	FEW_FUNCTIONS,
	type FrameCount,
	MANY,
} from '../symbolize/walks/frame-pointers.js';
import { textOf } from '../text-of.js';
import { coveredShare } from '../unwind/covered.js';
import { type Check, missing, ok, warn } from './check.js';
import { judgeRuntimesOf } from './runtimes.js';

/** Memory that only looks like a file: of run-time compilers, say. */
const NO_FILE = /^\/(memfd:|dev\/|SYSV|anon_hugepage)/;

/** Start-up code of the compiler's own has unwind tables in any file. */
const HARDLY_ANY = 0.05;
/** Files of a process that are looked at for unwind tables; browsers have 200. */
const MAX_FILES = 1000;

/** A process that a tool is asked about. */
export interface ExaminedProcess {
	readonly pid: number;
	readonly is32: boolean;
	/** The files it executes code of. */
	readonly files: readonly MapsEntry[];
}

export interface ProcessExamination {
	readonly pid: number;
	readonly checks: readonly Check[];
	/** Undefined where its program cannot be read. */
	readonly process: ExaminedProcess | undefined;
	/** Why not: "process 2 is a kernel thread". */
	readonly unreadable: string | undefined;
	/** Why no tool can trace it. */
	readonly gone: string | undefined;
}

export function examineProcess(pid: number): ProcessExamination {
	const status = textOf(`/proc/${pid}/status`);
	const tgid = Number(/^Tgid:\s*(\d+)$/m.exec(status ?? '')?.[1]);
	if (status === undefined || tgid !== pid) return judgeNoProcess(pid, status && tgid);
	const name = /^Name:\s*(.*)$/m.exec(status)?.[1] ?? '';
	const uid = Number(/^Uid:\s*\d+\s+(\d+)/m.exec(status)?.[1]);
	if (!/^VmSize:/m.test(status)) {
		const check = ok(`process ${pid}`, `${name}, a kernel thread: it has no user stacks`);
		return unreadable(pid, check, `process ${pid} is a kernel thread`);
	}
	const exe = openProgram(pid);
	if (exe === undefined) {
		const problem = `${name}, of user ${uid}: tstrace may not read its program`;
		const costs = 'its functions have no names, and tstrace cannot probe them';
		const fix =
			process.geteuid?.() === 0
				? 'allow ptrace (CAP_SYS_PTRACE); a container or sandbox forbids it'
				: `sudo tstrace doctor -p ${pid}`;
		const check = warn(`process ${pid}`, problem, costs, fix);
		return unreadable(pid, check, `tstrace may not read the program of process ${pid}`);
	}
	return examineProgram(pid, exe, `${name}, of user ${uid}, ${exe.path}`);
}

function unreadable(pid: number, check: Check, why: string): ProcessExamination {
	return { pid, checks: [check], process: undefined, unreadable: why, gone: undefined };
}

/** `tgid`: whose thread it is. */
function judgeNoProcess(pid: number, tgid: number | '' | undefined): ProcessExamination {
	const gone = tgid ? `a thread of process ${tgid}` : 'there is no such process';
	const fix = tgid ? `tstrace doctor -p ${tgid}` : 'pgrep -l NAME';
	const check = missing(`process ${pid}`, gone, 'nothing can be traced', fix);
	return {
		pid,
		checks: [check],
		process: undefined,
		unreadable: undefined,
		gone: `process ${pid}: ${gone}`,
	};
}

function examineProgram(pid: number, exe: Part, what: string): ProcessExamination {
	const files = mappedFiles(pid) ?? [];
	const others = [mostCode(files), files.find(({ path }) => LIBC.test(path))?.path]
		.filter((path) => path !== undefined && path !== exe.path)
		.map((path = '') => readPart(`/proc/${pid}/root${path}`, path, pid));
	const few = exe.frames !== undefined && exe.frames.sampled < FEW_FUNCTIONS;
	const isLauncher = few && others.length > 1;
	const parts = isLauncher ? others : [exe, ...others];
	return {
		pid,
		checks: [
			judgeProgram(pid, what, exe.is32),
			...(exe.is32 ? [] : judgeFilesOf(pid, files)),
			...parts.filter(({ is32 }) => !is32).flatMap(judgePart),
			...judgeRuntimesOf(pid, exe.path, files),
			...silentMemories()
				.filter((silent) => silent.pid === pid)
				.map(judgeSilentMemory),
			...silentMounts().map(judgeSilent),
		],
		process: { pid, is32: exe.is32, files },
		unreadable: undefined,
		gone: undefined,
	};
}

/** A file that a process executes code of. */
export interface Part {
	/** As the process sees it. */
	readonly path: string;
	readonly is32: boolean;
	readonly frames: FrameCount | undefined;
	/** How much of its code has unwind tables, from 0 to 1; undefined: it cannot be read. */
	readonly covered: number | undefined;
	readonly symbols: 'own' | 'debug file' | 'packed' | 'none' | 'unreadable';
	/** A command that installs its symbols. */
	readonly install: string | undefined;
}

function openProgram(pid: number): Part | undefined {
	const path = exeOf(pid);
	return path === '' ? undefined : readPart(`/proc/${pid}/exe`, path, pid);
}

function readPart(from: string, path: string, pid: number): Part {
	const nothing = {
		path,
		is32: false,
		frames: undefined,
		covered: undefined,
		install: undefined,
	};
	const read = (bytes: FileBytes): Part => {
		if (bytes.read(0, 5)[4] === 1) return { ...nothing, is32: true, symbols: 'unreadable' };
		const elf = new Elf(bytes);
		const root = `/proc/${pid}/root`;
		const symbols = symbolsOf(elf, path, [root, '']);
		const install = symbols === 'none' ? installCommand(path, root) : undefined;
		const covered = coveredShare(bytes);
		return { path, is32: false, frames: countFrames(elf), covered, symbols, install };
	};
	return readFile(openRegular(from), read, () => ({ ...nothing, symbols: 'unreadable' }));
}

function symbolsOf(elf: Elf, path: string, roots: readonly string[]): Part['symbols'] {
	if (hasSymbolTable(elf)) return 'own';
	const debug = openDebugFile(elf, path, {
		roots,
		cache: new DebugFileCache(cacheFolder(process.env)),
	});
	debug?.close();
	if (debug) return 'debug file';
	return elf.section('.gnu_debugdata') ? 'packed' : 'none';
}

export function judgeProgram(pid: number, what: string, is32: boolean): Check {
	const name = `process ${pid}`;
	if (!is32) return ok(name, what);
	return warn(name, `${what}, 32-bit`, 'its user stacks have no names', 'a 64-bit build');
}

function judgePart(part: Part): Check[] {
	return [judgeFrames(part), judgeSymbols(part)];
}

/** Of a file system that does not answer. */
export function judgeSilent({ folder, type }: Mount): Check {
	return warn(
		folder,
		`${folder} (${type}) does not answer`,
		'tstrace reads no files there: their functions have no names, and stacks that pass through them may be cut',
		`see whether its server runs (ls ${folder} would wait for it)`,
	);
}

function judgeSilentMemory(process: Parameters<typeof silentText>[0]): Check {
	return warn(
		'memory',
		`${silentText(process)} did not let tstrace read its memory within 500 ms`,
		'functions of the process may have no names, and no probes can be put into it',
		`see what it waits for: head -n 3 /proc/${process.pid}/task/*/stack`,
	);
}

/** For each file that a process executes code of, whether stacks that pass through it are whole. */
function judgeFilesOf(pid: number, files: readonly MapsEntry[]): Check[] {
	return files
		.filter(({ path }) => !NO_FILE.test(path))
		.slice(0, MAX_FILES)
		.map((file) => {
			const covered = readFile(openRegular(pathTo(pid, file)), coveredShare, () => undefined);
			return judgeTables({ path: file.path, covered });
		});
}

/** `covered`: see Part. */
export function judgeTables({ path, covered }: Pick<Part, 'path' | 'covered'>): Check {
	const name = 'unwind tables';
	const file = basename(path);
	if (covered === undefined) {
		const costs = 'user stacks that pass through its functions may be cut';
		return warn(name, `${file}: tstrace may not read the file`, costs, 'sudo tstrace …');
	}
	if (covered >= MANY) return ok(name, `${file}: has unwind tables`);
	return warn(
		name,
		covered < HARDLY_ANY
			? `${file}: has no unwind tables: its stacks are guessed by frame pointers`
			: `${file}: only ${Math.round(covered * 100)} % of its code has unwind tables: the rest of its stacks is guessed by frame pointers`,
		'user stacks that pass through its functions may lack callers, or end at them',
		LIBC.test(path)
			? 'a system whose C library has them: glibc has, musl has not'
			: 'build it with -fasynchronous-unwind-tables, or else with frame pointers',
	);
}

/** Where code has unwind tables, few need frame pointers. */
export function judgeFrames({ path, frames, covered = 0 }: Part): Check {
	const name = 'frame pointers';
	const file = basename(path);
	const share = frames ? frames.withFrame / frames.sampled : 0;
	const functions = frames?.sampled === 1 ? '1 function' : `${frames?.sampled} functions`;
	const found = frames
		? `${file}: ${Math.round(share * 100)} % of ${functions} keep them`
		: `${file}: unknown, as it has no .eh_frame_hdr`;
	if (share >= MANY) return ok(name, found);
	if (covered >= MANY)
		return ok(name, `${found}; only --unwind fp, profile without BPF, bcc and perf need them`);
	const costs = 'user stacks that pass through its functions lack callers, or end at them';
	if (!frames)
		return warn(
			name,
			found,
			costs.replace('lack callers', 'may lack callers'),
			'none; tstrace marks the stacks that are cut',
		);
	const fix = LIBC.test(path)
		? 'a system whose libraries have them: Ubuntu 24.04, Fedora 38 or newer'
		: 'build it with -fno-omit-frame-pointer (Rust: -C force-frame-pointers=yes)';
	return warn(name, found, costs, fix);
}

export function judgeSymbols({ path, symbols, install }: Part): Check {
	const file = basename(path);
	if (symbols === 'own') return ok('symbols', `${file}: in the file itself`);
	if (symbols === 'debug file') return ok('symbols', `${file}: in its debug file`);
	if (symbols === 'packed')
		return ok('symbols', `${file}: in the file itself, compressed (.gnu_debugdata)`);
	return warn(
		'symbols',
		`${file}: ${symbols === 'none' ? 'it is stripped, and names only exported functions' : 'tstrace may not read the file'}`,
		'its other functions have no names',
		install ?? (symbols === 'none' ? 'a build that is not stripped' : 'sudo tstrace …'),
	);
}

/** The library with the most code, except the C library: Python and the JVM have their code there. */
function mostCode(files: readonly MapsEntry[]): string | undefined {
	const bytes = ({ start, end }: MapsEntry) => end - start;
	const [largest] = files
		.filter(({ path }) => !NO_FILE.test(path))
		.toSorted((a, b) => bytes(b) - bytes(a));
	return largest && !LIBC.test(largest.path) ? largest.path : undefined;
}
