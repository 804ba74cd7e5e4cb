/** Whether functions that a runtime compiles have names: by its perf map, or in its memory. */
import { closeSync } from 'node:fs';
import { Elf } from '../elf/elf.js';
import type { MapsEntry } from '../proc/maps.js';
import { openRegular, readFile } from '../proc/open.js';
import { readFacts } from '../proc/process-facts.js';
import { type RuntimeFile, runtimeIn } from '../runtimes/recognise.js';
import { pathTo } from '../symbolize/mappings/code-files.js';
import { REMEDIES, whyUnnamed } from '../symbolize/notices.js';
import { type Runtime, runtimeOf } from '../symbolize/symbols/jit.js';
import { openPerfMap } from '../symbolize/symbols/perf-map-files.js';
import { type Check, ok, warn } from './check.js';

/** Of the others only the program may have a runtime whose functions are named out of memory. */
const RUNTIME_FILES = /\/(node|nodejs|libnode\.so[^/]*|(lib)?python3[^/]*)$/;
const MAX_FILES = 8;
/** What a runtime's functions are written in, and what the runtime is called. */
const LANGUAGES = { v8: ['JavaScript', 'V8'], python: ['Python', 'CPython'] } as const;

function runtimeAmong(
	pid: number,
	program: string,
	files: readonly MapsEntry[],
): RuntimeFile | undefined {
	const isLikely = ({ path }: MapsEntry) => path === program || RUNTIME_FILES.test(path);
	for (const file of files.filter(isLikely).slice(0, MAX_FILES)) {
		const runtime = readFile(
			openRegular(pathTo(pid, file)),
			(bytes) => runtimeIn(new Elf(bytes)),
			() => undefined,
		);
		if (runtime) return runtime;
	}
	return undefined;
}

function hasPerfMap(pid: number): boolean {
	const facts = readFacts(pid);
	const file = facts && openPerfMap(pid, facts);
	if (file) closeSync(file.fd);
	return file !== undefined;
}

/**
 * `runtime`: by the names of what the process executes. `file`: the one that a runtime is in whose functions may have
 * names without a perf map.
 */
export function judgeRuntime(
	runtime: Runtime | undefined,
	pid: number,
	hasMap: boolean,
	file?: RuntimeFile,
): Check[] {
	const [language, name] = file ? LANGUAGES[file.runtime] : [];
	if (hasMap && (runtime || name)) return [ok('JIT map', `${runtime ?? name}: perf-${pid}.map`)];
	if (file && language) return [judgeReadable(file, language, `${name} ${file.version}`)];
	if (!runtime) return [];
	const remedy = REMEDIES[runtime].replace('PID', String(pid));
	const costs = 'functions compiled at run time have no names';
	return [warn('JIT map', `${runtime} wrote no perf-${pid}.map`, costs, remedy)];
}

function judgeReadable(file: RuntimeFile, language: string, name: string): Check {
	const { runtime, version, problem } = file;
	if (file.layout) return ok(language, `${name}: its functions have names`);
	const { why, remedy } = whyUnnamed({
		runtime,
		version,
		problem: problem === undefined || problem === 'unwanted' ? 'version' : problem,
	});
	return warn(language, `${name}: ${why}`, `${language} functions have no names`, remedy);
}

/** Of what a process executes; nothing where no runtime is in it. `program`: the path of what it was started from. */
export function judgeRuntimesOf(
	pid: number,
	program: string,
	files: readonly MapsEntry[],
): Check[] {
	const runtime = runtimeOf(files.map(({ path }) => path));
	return judgeRuntime(runtime, pid, hasPerfMap(pid), runtimeAmong(pid, program, files));
}
