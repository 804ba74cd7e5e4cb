/** Whether functions that a runtime compiles have names: by its perf map, or in its memory. */
import { closeSync } from 'node:fs';
import { Elf } from '../elf/elf.js';
import type { MapsEntry } from '../proc/maps.js';
import { openRegular, readFile } from '../proc/open.js';
import { readFacts } from '../proc/process-facts.js';
import { type RuntimeFile, runtimeIn } from '../runtimes/recognise.js';
import { pathTo } from '../symbolize/mappings/code-files.js';
import { REMEDIES } from '../symbolize/notices.js';
import { type Runtime, runtimeOf } from '../symbolize/symbols/jit.js';
import { openPerfMap } from '../symbolize/symbols/perf-map-files.js';
import { type Check, ok, warn } from './check.js';

/** Of the others none has a runtime whose functions are named out of memory. */
const RUNTIME_FILES = /\/(node|nodejs|libnode\.so[^/]*|(lib)?python3[^/]*)$/;
const MAX_FILES = 8;
/** What a runtime's functions are written in, and what the runtime is called. */
const LANGUAGES = { v8: ['JavaScript', 'V8'], python: ['Python', 'CPython'] } as const;

function runtimeAmong(pid: number, files: readonly MapsEntry[]): RuntimeFile | undefined {
	for (const file of files.filter(({ path }) => RUNTIME_FILES.test(path)).slice(0, MAX_FILES)) {
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

/** `file`: the one that a runtime is in whose functions may have names without a perf map. */
export function judgeRuntime(
	runtime: Runtime,
	pid: number,
	hasMap: boolean,
	file?: RuntimeFile,
): Check {
	if (hasMap) return ok('JIT map', `${runtime}: perf-${pid}.map`);
	if (file?.layout) {
		const [language, name] = LANGUAGES[file.runtime];
		return ok(language, `${name} ${file.version}: its functions have names`);
	}
	return warn(
		'JIT map',
		`${runtime} wrote no perf-${pid}.map`,
		'functions compiled at run time have no names',
		REMEDIES[runtime].replace('PID', String(pid)),
	);
}

/** Of what a process executes; nothing where no runtime is in it. */
export function judgeRuntimesOf(pid: number, files: readonly MapsEntry[]): Check[] {
	const runtime = runtimeOf(files.map(({ path }) => path));
	return runtime ? [judgeRuntime(runtime, pid, hasPerfMap(pid), runtimeAmong(pid, files))] : [];
}
