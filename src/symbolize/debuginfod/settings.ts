/**
 * What the environment says of debuginfod, which serves debug files by build-id: from where, how long, how much.
 * Source: man 7 debuginfod-client-config.
 */

type Environment = Readonly<Record<string, string | undefined>>;

export interface DebuginfodSettings {
	/** To be asked in this order; each begins what a file's place is added to. */
	readonly servers: readonly URL[];
	/** Parts of DEBUGINFOD_URLS that are not asked, each with the reason. */
	readonly unusable: readonly string[];
	/** A server that does not send 100 KiB within this time is given up; Infinity: never. */
	readonly timeout_ms: number;
	/** For one file; Infinity: no limit of its own. */
	readonly maxTime_ms: number;
	/** For all files together. */
	readonly maxTotal_ms: number;
	readonly maxFile_bytes: number;
	/** Of all files together. */
	readonly maxTotal_bytes: number;
}

/** As elfutils has it. */
const DEFAULT_TIMEOUT_S = 90;
/** Where the variables set no limit. Somebody waits for the result, and the disk is not ours alone. */
const MAX_TOTAL_S = 300;
const MAX_FILE_BYTES = 2 ** 30;
const MAX_TOTAL_BYTES = 2 ** 31;
/** 24 days: node's timers count milliseconds in 31 bits, and take a longer time for no time at all. */
const MAX_TIMER_S = 2_147_483;

/** Whether anybody wants files to be fetched: nothing is asked without. */
export function isDebuginfodSet(env: Environment): boolean {
	return (env.DEBUGINFOD_URLS ?? '').trim() !== '';
}

/** What is not a number counts as 0, and 0 is no limit, as with elfutils. */
export function debuginfodSettings(env: Environment): DebuginfodSettings {
	const timeout_s = secondsIn(env.DEBUGINFOD_TIMEOUT) ?? DEFAULT_TIMEOUT_S;
	const maxTime_s = secondsIn(env.DEBUGINFOD_MAXTIME) ?? 0;
	const maxSize_bytes = numberIn(env.DEBUGINFOD_MAXSIZE) ?? 0;
	return {
		...serversIn(env.DEBUGINFOD_URLS ?? ''),
		timeout_ms: timeout_s > 0 ? timeout_s * 1000 : Infinity,
		maxTime_ms: maxTime_s > 0 ? maxTime_s * 1000 : Infinity,
		maxTotal_ms: Math.max(maxTime_s, MAX_TOTAL_S) * 1000,
		maxFile_bytes: maxSize_bytes > 0 ? maxSize_bytes : MAX_FILE_BYTES,
		maxTotal_bytes: Math.max(maxSize_bytes, MAX_TOTAL_BYTES),
	};
}

/** Undefined where the variable is not set; 0 for what atol(3) takes for 0. */
function numberIn(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	return Number(/^\s*[+-]?\d{1,15}/.exec(text)?.[0] ?? 0);
}

function secondsIn(text: string | undefined): number | undefined {
	const time_s = numberIn(text);
	return time_s === undefined ? undefined : Math.min(time_s, MAX_TIMER_S);
}

function serversIn(text: string): Pick<DebuginfodSettings, 'servers' | 'unusable'> {
	const servers: URL[] = [];
	const unusable: string[] = [];
	/** What elfutils would have to check of files from the URLs that follow: signatures of packages. */
	let enforced = false;
	for (const word of text.split(/\s+/)) {
		if (word === '') continue;
		if (word.startsWith('ima:')) {
			enforced = word !== 'ima:ignore';
			continue;
		}
		const server = URL.canParse(word) ? new URL(word) : undefined;
		if (server?.protocol !== 'http:' && server?.protocol !== 'https:') {
			unusable.push(`${shown(server) ?? 'a word'}: not an http or https URL`);
		} else if (enforced) {
			unusable.push(`${server.host}: tstrace cannot verify signatures (ima:enforcing)`);
		} else if (!servers.some(({ href }) => href === server.href)) servers.push(server);
	}
	return { servers, unusable };
}

/** A word that is no URL may be anything, a password too. */
function shown(server: URL | undefined): string | undefined {
	return server && `${server.protocol}//${server.host}`;
}

/** Where a server has the debug file of this build-id. */
export function debugFileUrl(server: URL, buildId: string): URL {
	const url = new URL(server);
	url.pathname = `${server.pathname.replace(/\/+$/, '')}/buildid/${buildId}/debuginfo`;
	return url;
}
