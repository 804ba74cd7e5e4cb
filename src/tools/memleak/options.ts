/** What `tstrace memleak` can be asked for, and what that means together. */

import { InvalidArgumentError } from 'commander';
import type { StackRow } from '../../aggregate/stack-rows.js';
import { byNumber, type Subjects } from '../../bpf/filter.js';
import type { StackSettings } from '../../bpf/stacks/stacks.js';
import { UsageError } from '../../errors.js';
import { parseAge, timestampsOption, wholeNumber } from '../../options/parsers.js';
import { stackOptions, stackSettings, stackView } from '../../options/stack-options.js';
import { flag, parsed, parsedOr, textOption, type ValuesOf } from '../../options/typed-option.js';
import type { StackView } from '../../render/stack-text.js';
import type { NamingSettings } from '../../symbolize/naming.js';

/** Of bpf/lib/memleak/byte_sampling.h: what is multiplied there stays within 64 bits. */
export const MAX_SAMPLE_BYTES = 2 ** 26;
const MAX_ALLOCATIONS = 2 ** 26;
const SUSPECT_AFTER = 3;
const DEFAULT_ALLOCATIONS = 1_000_000;
/** Where only few are kept. */
const DEFAULT_SAMPLED_ALLOCATIONS = 100_000;
const BYTES_OF: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

export interface LeakSettings extends StackSettings, NamingSettings, StackView {
	/** Whether `top` is what the user asked for. */
	readonly topGiven: boolean;
	/** 0: every allocation is kept. */
	readonly sample_bytes: number;
	readonly smallest_bytes: number;
	/** Infinity: no limit. */
	readonly largest_bytes: number;
	readonly maxAllocations: number;
	readonly older_ns: number;
	/** Each allocation by itself. */
	readonly all: boolean;
	/** All that was allocated, not what is outstanding. */
	readonly churn: boolean;
	/** Intervals of growth that make a stack suspect. */
	readonly suspectAfter: number;
	/** -O: the file that has the allocator. */
	readonly object: string | undefined;
	readonly prefix: string;
	readonly growth: boolean;
}

/** Whose memory it is about: processes' heaps, the kernel's own, or what becomes resident. */
type LeakSubject = 'heap' | 'kernel' | 'growth';

export function subjectOf({ growth }: LeakSettings, { filter, command }: Subjects): LeakSubject {
	if (growth) return 'growth';
	const chosen = command !== undefined || byNumber(filter);
	return chosen ? 'heap' : 'kernel';
}

/** Throws UsageError where options are about allocators of processes, and none was chosen. */
export function requireHeap({ object, prefix, byThread }: LeakSettings, of: LeakSubject): void {
	if (of !== 'kernel') return;
	const given = object !== undefined ? '-O' : prefix ? '--prefix' : byThread ? '-L' : undefined;
	if (given !== undefined)
		throw new UsageError(
			`${given} works only on the heaps of processes: add -p PID, or -- COMMAND`,
		);
}

/** "4096", "512K", "1M". */
function parseBytes(text: string): number {
	const match = /^(\d{1,15})([KMG]?)(?:i?B)?$/i.exec(text);
	const bytes = Number(match?.[1]) * (BYTES_OF[(match?.[2] ?? '').toUpperCase()] ?? Number.NaN);
	if (!Number.isSafeInteger(bytes))
		throw new InvalidArgumentError('give bytes, such as 4096, 512K or 1M');
	return bytes;
}

export function leakOptions() {
	// Stacks are the kernel's or a process's, never both; --top has another default here.
	const { userStacks, kernelStacks, delimited, top, ...stacks } = stackOptions();
	return {
		all: flag('-a, --all', 'list outstanding allocations one by one'),
		older: parsed(
			'--older <age>',
			'only allocations older than AGE: seconds, or 500ms, 5m',
			parseAge,
		),
		minSize: parsed('-z, --min-size <bytes>', 'only allocations of BYTES or more', parseBytes),
		maxSize: parsed('-Z, --max-size <bytes>', 'only allocations of BYTES or less', parseBytes),
		top: parsed(
			'--top <n>',
			'show the N largest stacks (default: 10, or fewer if the others together are below 1 %); 0 shows all',
			wholeNumber(1e9, 0),
		),
		churn: flag('--churn', 'count all allocations of each stack, also those freed again'),
		sampleBytes: parsedOr(
			'--sample-bytes <bytes>',
			'for each BYTES allocated, trace about one allocation; estimate the rest',
			parseBytes,
			0,
			'every allocation',
		),
		maxAllocs: parsed(
			'--max-allocs <n>',
			'room for N outstanding allocations; each takes 144 B of kernel memory',
			wholeNumber(MAX_ALLOCATIONS),
		),
		timestamps: timestampsOption(),
		suspectAfter: parsed(
			'--suspect-after <k>',
			`mark stacks whose memory grew in each of the last K intervals (default: ${SUSPECT_AFTER})`,
			wholeNumber(1000),
		),
		object: textOption(
			'-O, --object <file>',
			'the file that has malloc and free: its path or its name',
		),
		prefix: parsedOr(
			'--prefix <prefix>',
			"prefix of the allocator's functions, such as je_",
			(prefix) => prefix,
			'',
			'none',
		),
		growth: flag(
			'--growth',
			'show where resident memory grows; costs less: puts no probes into processes',
		),
		...stacks,
	};
}

type LeakValues = ValuesOf<ReturnType<typeof leakOptions>>;

/** Checks what the options mean together. Throws UsageError. */
export function leakSettings(values: LeakValues): LeakSettings {
	const sample_bytes = values.sampleBytes;
	const settings: LeakSettings = {
		...stackSettings(values),
		...stackView({ ...values, delimited: false, top: values.top ?? 10 }),
		topGiven: values.top !== undefined,
		sample_bytes,
		smallest_bytes: values.minSize ?? 0,
		largest_bytes: values.maxSize ?? Number.POSITIVE_INFINITY,
		maxAllocations:
			values.maxAllocs ?? (sample_bytes ? DEFAULT_SAMPLED_ALLOCATIONS : DEFAULT_ALLOCATIONS),
		older_ns: (values.older ?? 0) * 1e9,
		all: values.all,
		churn: values.churn,
		suspectAfter: values.suspectAfter ?? SUSPECT_AFTER,
		object: values.object,
		prefix: values.prefix,
		growth: values.growth,
	};
	requireSense(settings, values);
	if (settings.growth) requireNoAllocator(values);
	return settings;
}

/** Stacks that together hold less than this share of all are one line, unless --top asks for them. */
const LEAST_SHARE = 0.01;

/** How many of the stacks are shown, of those that come the largest first; 0: all. Suspects always are. */
export function shownOf(
	stacks: readonly StackRow[],
	{ top, topGiven }: Pick<LeakSettings, 'top' | 'topGiven'>,
): number {
	if (topGiven || top === 0) return top;
	const total = stacks.reduce((sum, { value }) => sum + value, 0);
	let shown = stacks.length;
	for (let rest = 0; shown > 1; shown--) {
		const last = stacks[shown - 1] as StackRow;
		rest += last.value;
		if (rest >= LEAST_SHARE * total || last.details?.suspect) break;
	}
	return Math.min(shown, top);
}

/** Throws UsageError where one option makes nothing of another. */
function requireSense(settings: LeakSettings, { suspectAfter }: LeakValues): void {
	const { smallest_bytes, largest_bytes, sample_bytes, churn, all, older_ns } = settings;
	if (smallest_bytes > largest_bytes)
		throw new UsageError(`--min-size ${smallest_bytes} is more than --max-size ${largest_bytes}`);
	if (sample_bytes > MAX_SAMPLE_BYTES)
		throw new UsageError(`--sample-bytes can be at most ${MAX_SAMPLE_BYTES} (64M)`);
	if (churn && all)
		throw new UsageError(
			'give either -a or --churn: memleak does not keep freed allocations one by one',
		);
	if (churn && older_ns > 0)
		throw new UsageError(
			'give either --older or --churn: memleak keeps no age of freed allocations',
		);
	if (suspectAfter !== undefined && (churn || all))
		throw new UsageError(
			`give either --suspect-after or ${all ? '-a' : '--churn'}: memleak compares the outstanding memory of stacks only`,
		);
}

/** --growth looks at pages, not at allocations. */
function requireNoAllocator(values: LeakValues): void {
	const given = {
		'-a': values.all,
		'--churn': values.churn,
		'--older': values.older,
		'-z': values.minSize,
		'-Z': values.maxSize,
		'--max-allocs': values.maxAllocs,
		'-O': values.object,
		'--suspect-after': values.suspectAfter,
	};
	for (const [option, value] of Object.entries(given)) {
		if (value !== undefined && value !== false)
			throw new UsageError(
				`give either ${option} or --growth: --growth sees page faults, not allocations`,
			);
	}
	if (values.sampleBytes > 0 || values.prefix !== '')
		throw new UsageError(
			'leave out --sample-bytes and --prefix: --growth sees page faults, not allocations',
		);
}
