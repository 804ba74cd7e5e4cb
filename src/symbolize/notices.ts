/** What a reader of stacks should know about their names: what is missing, why, what to do. */
import { basename } from 'node:path';
import { function_constant } from '../generated/common.js';
import { silentText } from '../proc/memory-lock.js';
import { humanBytes } from '../render/units.js';
import { NODE_VERSIONS } from '../runtimes/v8/versions.js';
import type { Runtime } from './symbols/jit.js';

const { FUNCTION_MAX_RUNTIMES } = function_constant;

/** Whether symbols are fetched: 'unset': nobody set DEBUGINFOD_URLS; 'off': there is --no-debuginfod. */
export type DebuginfodUse = 'on' | 'off' | 'unset';

/** Shares are of the values of all stacks, from 0 to 1. Names are raw: renderers escape them. */
export type Notice =
	| { readonly kind: 'kernel-symbols-hidden' }
	| {
			/** A run-time compiler's frames have no names, as it wrote no perf map. */
			readonly kind: 'perf-map-missing';
			readonly runtime: Runtime;
			readonly pid: number;
			readonly comm: string;
			readonly share: number;
	  }
	| {
			/** It wrote a perf map, in which some of its frames are not. */
			readonly kind: 'perf-map-incomplete';
			/** Undefined for one that is not known. */
			readonly runtime: Runtime | undefined;
			readonly pid: number;
			readonly comm: string;
			readonly share: number;
	  }
	| {
			/** A runtime's functions are not named, and it wrote no perf map. */
			readonly kind: 'runtime-unknown';
			readonly runtime: 'v8' | 'python';
			readonly version: string;
			/**
			 * It is not known, the file lacks what tells where functions are, its threads run at the same time, or there
			 * are too many files.
			 */
			readonly problem: 'version' | 'symbols' | 'free-threaded' | 'count';
			readonly pid: number;
			readonly comm: string;
			readonly share: number;
	  }
	| {
			/** Functions of a runtime's whose names could not be read. */
			readonly kind: 'functions-unread';
			readonly language: 'JavaScript' | 'Python';
			readonly pid: number;
			readonly comm: string;
			readonly share: number;
	  }
	| { readonly kind: 'perf-map-cut'; readonly pid: number; readonly comm: string }
	| {
			readonly kind: 'symbols-missing';
			/** As the process sees it. */
			readonly path: string;
			readonly reason: 'stripped' | 'unreadable';
			readonly buildId: string | undefined;
			/** A command that installs them. */
			readonly install: string | undefined;
			readonly debuginfod: DebuginfodUse;
			readonly share: number;
	  }
	| {
			/** Symbols were fetched by debuginfod. */
			readonly kind: 'symbols-fetched';
			readonly paths: readonly string[];
			readonly bytes: number;
			readonly hosts: readonly string[];
	  }
	/** They were not, all for the same reason. */
	| {
			readonly kind: 'symbols-not-fetched';
			readonly paths: readonly string[];
			readonly why: string;
	  }
	/** A part of DEBUGINFOD_URLS was not used. */
	| { readonly kind: 'server-unusable'; readonly what: string }
	/** Files there are not read: whoever asks for one may wait for ever. */
	| { readonly kind: 'mount-silent'; readonly folder: string; readonly type: string }
	/** Whoever reads its memory, or its mappings, may wait for ever. */
	| { readonly kind: 'memory-silent'; readonly pid: number; readonly comm: string | undefined }
	/** Finding names took too long, and was given up. */
	| { readonly kind: 'out-of-time' }
	/** Too much was going on to remember all of it. */
	| { readonly kind: 'records-dropped'; readonly count: number };

/** How each comes to write a perf map. */
export const REMEDIES: Readonly<Record<Runtime, string>> = {
	node: 'start it with node --perf-basic-prof --interpreted-frames-native-stack',
	jvm: 'start it with -XX:+PreserveFramePointer, and run jcmd PID Compiler.perfmap before it ends',
	python: 'start it with python3 -X perf, or with PYTHONPERFSUPPORT=1',
	'python before 3.12':
		'run it with Python 3.12 or newer and -X perf: this version cannot tell tstrace its functions',
};

/** How each comes to write down what it compiled since. */
const RENEWALS: Readonly<Record<Runtime, string>> = {
	node: REMEDIES.node,
	jvm: 'run jcmd PID Compiler.perfmap again, shortly before tracing ends',
	python: REMEDIES.python,
	'python before 3.12': REMEDIES['python before 3.12'],
};

/** In words: one line, two sentences at most. */
export function noticeText(notice: Notice): string {
	switch (notice.kind) {
		case 'kernel-symbols-hidden':
			return (
				'kernel functions have no names: their addresses are hidden. ' +
				'Set sysctl kernel.kptr_restrict=1 and run with CAP_SYSLOG, or set it to 0.'
			);
		case 'perf-map-missing': {
			const { runtime, pid, comm } = notice;
			const remedy = REMEDIES[runtime].replace('PID', String(pid));
			return (
				`${comm} (${pid}) has functions without names, in ${percent(notice.share)} of what is ` +
				`shown: it wrote no perf map. To see them, ${remedy}.`
			);
		}
		case 'perf-map-incomplete': {
			const { runtime, pid, comm } = notice;
			const renewal = runtime ? RENEWALS[runtime] : 'have it write its perf map again';
			return (
				`${comm} (${pid}) has functions that are not in its perf map ([jit]), in ` +
				`${percent(notice.share)} of what is shown: usually it compiled them after it wrote the map. ` +
				`To see them, ${renewal.replace('PID', String(pid))}.`
			);
		}
		case 'runtime-unknown':
			return runtimeUnknownText(notice);
		case 'functions-unread':
			return (
				`${notice.comm} (${notice.pid}) has ${notice.language} functions without names, in ${percent(notice.share)} of what ` +
				'is shown: its memory had changed, or was gone, before tstrace read it.'
			);
		case 'perf-map-cut':
			return `the perf map of ${notice.comm} (${notice.pid}) is too large: tstrace read only a part of it.`;
		case 'symbols-missing':
			return symbolsMissingText(notice);
		case 'symbols-fetched': {
			const { paths, bytes, hosts } = notice;
			return `tstrace fetched the symbols of ${someOf(paths)} (${humanBytes(bytes)}) from ${hosts.join(', ')}.`;
		}
		case 'symbols-not-fetched':
			return `tstrace could not fetch the symbols of ${someOf(notice.paths)}: ${notice.why}.`;
		case 'server-unusable':
			return `tstrace does not use all of DEBUGINFOD_URLS: ${notice.what}.`;
		case 'mount-silent':
			return (
				`${notice.folder} (${notice.type}) does not answer, or too late: tstrace reads no files there, and functions ` +
				'of these have no names.'
			);
		case 'memory-silent':
			return (
				`${silentText(notice)} did not let tstrace read its memory within 500 ms; perhaps it maps a file of a mount ` +
				'that does not answer. Functions of the process may have no names.'
			);
		case 'out-of-time':
			return 'tstrace stopped looking for names, as it took too long: some names are missing.';
		case 'records-dropped':
			return `tstrace dropped ${notice.count} records of processes, as there were too many: names may be missing.`;
	}
}

const NODES = `${NODE_VERSIONS.slice(0, -1).join(', ')} and ${NODE_VERSIONS.at(-1)}`;

const READABLE: Readonly<
	Record<'v8' | 'python', { versions: string; is: string; name: string; remedy: string }>
> = {
	v8: {
		versions: `Node.js ${NODES}`,
		is: 'has',
		name: 'V8',
		remedy: `To see them, ${REMEDIES.node}.`,
	},
	python: {
		versions: 'Python 3.9 to 3.14',
		is: 'is',
		name: 'Python',
		remedy: 'Python 3.12 and newer can write a perf map: start it with python3 -X perf.',
	},
};

function runtimeUnknownText(notice: Notice & { kind: 'runtime-unknown' }): string {
	const { pid, comm, share } = notice;
	const { why, remedy } = whyUnnamed(notice);
	return `${comm} (${pid}) has functions without names, in ${percent(share)} of what is shown: ${why}. ${remedy}`;
}

/** Why functions of a runtime have no names out of the memory of its processes, and a sentence that says what to do. */
export function whyUnnamed(
	lack: Pick<Notice & { kind: 'runtime-unknown' }, 'runtime' | 'version' | 'problem'>,
): { readonly why: string; readonly remedy: string } {
	const { runtime, version, problem } = lack;
	const { versions, is, name, remedy } = READABLE[runtime];
	const why = {
		version: `tstrace reads the names of ${versions}, and this ${is} ${name} ${version}`,
		symbols: `the symbols that tell where ${name} ${version} has them are stripped`,
		'free-threaded': `tstrace does not read those of ${name} ${version} without the GIL`,
		count: `tstrace reads those of ${FUNCTION_MAX_RUNTIMES} programs with V8 or Python in them, and this is one more`,
	}[problem];
	return { why, remedy };
}

function symbolsMissingText(notice: Notice & { kind: 'symbols-missing' }): string {
	const what = `${notice.path} has functions without names, in ${percent(notice.share)} of what is shown`;
	if (notice.reason === 'unreadable') {
		return `${what}: tstrace cannot read the file, or it is gone with its process.`;
	}
	const id = notice.buildId ? ` (build-id ${notice.buildId})` : '';
	const ways = [notice.install ?? 'install its debug symbols', ...waysToFetch(notice)];
	return `${what}: it has no symbols${id}. To get them: ${ways.join(', or ')}.`;
}

function waysToFetch({ buildId, debuginfod }: Notice & { kind: 'symbols-missing' }): string[] {
	if (!buildId || debuginfod === 'on') return [];
	return [debuginfod === 'off' ? 'leave out --no-debuginfod' : 'set DEBUGINFOD_URLS'];
}

/** Files that are named in one line. */
const MAX_NAMED = 4;

/** "redis-server, libc.so.6 and 3 other files" */
function someOf(paths: readonly string[]): string {
	const names = paths.map((path) => basename(path));
	if (names.length <= MAX_NAMED) return names.join(', ');
	const rest = names.length - MAX_NAMED + 1;
	return `${names.slice(0, MAX_NAMED - 1).join(', ')} and ${rest} other files`;
}

function percent(share: number): string {
	const value = share * 100;
	return value > 0 && value < 1 ? '<1%' : `${Math.round(value)}%`;
}
