/**
 * Events of one PMU, as perf writes them: "msr/tsc/", "cpu/event=0x3c,umask=1/u", "power/energy-pkg/".
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}, man 1 perf-list.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../errors.js';
import { textOf } from '../text-of.js';
import { parseCpuList } from './cpus.js';
import { type EventType, meant } from './names.js';

/** Where the kernel lists its PMUs. */
const FOLDER = '/sys/bus/event_source/devices';

/** What only events of a PMU have. */
export interface PmuEvent extends EventType {
	readonly config1: bigint;
	readonly config2: bigint;
	/** The CPUs on which it can be counted; undefined: on all. */
	readonly onCpus?: readonly number[];
	/** CPUs share what it counts, such as a memory controller: it does not tell processes apart. */
	readonly shared: boolean;
	/** What one of the count is, where it is no event: "Joules". */
	readonly scale?: { readonly factor: number; readonly unit: string };
}

/** "power/energy-pkg/u": its parts; undefined: the text is not of that form. */
export function splitPmuEvent(
	text: string,
): { pmu: string; terms: string; modifier: string } | undefined {
	const match = /^([a-z*?][\w.*?-]*)\/([^/]*)\/:?([\w:]*)$/i.exec(text);
	if (!match) return undefined;
	const [, pmu = '', terms = '', modifier = ''] = match;
	return { pmu, terms, modifier };
}

/**
 * The event of each PMU that the name stands for: "uncore_imc" or "imc" for uncore_imc_0, uncore_imc_1, …; "*" and "?"
 * for any letters. Throws UsageError, which names what there is.
 */
export function pmuEvents(pmu: string, terms: string, folder = FOLDER): PmuEvent[] {
	const all = listOf(folder);
	const pattern = pmu.replace(/[.-]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.');
	const named = all.filter((name) => new RegExp(`^${pattern}$`).test(name));
	const found = named.length > 0 ? named : all.filter((name) => standsFor(pmu, name));
	if (found.length === 0) {
		const none = `-e ${pmu}/${terms}/: there is no PMU ${pmu}`;
		if (all.length === 0) throw new UsageError(`${none}: ${folder} lists none`);
		const near = meant(pmu, all) || `: this machine has ${all.join(', ')};`;
		throw new UsageError(`${none}${near} see ${folder}`);
	}
	return found.sort(byNumber).map((name) => new Pmu(folder, name).event(terms));
}

/** "power/energy-pkg/" for "energy-pkg": events of that name, of whatever PMU. */
export function pmuEventsNamed(name: string, folder = FOLDER): string[] {
	return listOf(folder)
		.filter((pmu) => new Pmu(folder, pmu).aliases().includes(name))
		.map((pmu) => `${pmu}/${name}/`);
}

/** Without the number at the end, and without "uncore_". */
function standsFor(pmu: string, name: string): boolean {
	const short = name.replace(/_\d+$/, '');
	return short === pmu || short === `uncore_${pmu}` || name === `uncore_${pmu}`;
}

const byNumber = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });

/** The names in a folder; none where there is none. */
function listOf(folder: string): string[] {
	try {
		return readdirSync(folder).sort();
	} catch {
		return [];
	}
}

/** perf_event_attr's fields that a term can be a part of. */
type Configs = { config: bigint; config1: bigint; config2: bigint };
const CONFIGS: readonly string[] = ['config', 'config1', 'config2'];
/** Terms that are about recording, not about what is counted. */
const OF_RECORDING = ['period', 'freq', 'call-graph', 'stack-size'];

class Pmu {
	readonly #name: string;
	readonly #folder: string;

	constructor(folder: string, name: string) {
		this.#name = name;
		this.#folder = join(folder, name);
	}

	event(terms: string): PmuEvent {
		const configs: Configs = { config: 0n, config1: 0n, config2: 0n };
		const typed = terms.split(',');
		const aliases = typed.filter((term) => this.aliases().includes(term));
		const own = typed.filter((term) => !aliases.includes(term) && !/^name=./.test(term));
		// What is typed is stronger than what a name stands for.
		for (const term of [...aliases.flatMap((alias) => this.#termsOf(alias, own, terms)), ...own])
			this.#set(configs, term, terms);
		const name = typed.find((term) => /^name=./.test(term))?.slice('name='.length);
		const mask = this.#text('cpumask');
		const cpus = mask ?? this.#text('cpus');
		if (cpus === '') throw this.#wrong(terms, `no CPU of PMU ${this.#name} is online`);
		const type = Number(this.#text('type') ?? Number.NaN);
		if (!Number.isInteger(type)) throw this.#wrong(terms, 'the kernel does not tell its type');
		return {
			name: name ?? `${this.#name}/${terms}/`,
			type,
			...configs,
			...(cpus === undefined ? {} : { onCpus: parseCpuList(cpus) }),
			shared: mask !== undefined,
			...this.#scaleOf(aliases[0]),
		};
	}

	/** The terms that an event's name stands for, without those that the user has to type ("?"). */
	#termsOf(alias: string, typed: readonly string[], terms: string): string[] {
		const all = this.#text(`events/${alias}`)?.split(',') ?? [];
		for (const term of all.filter((each) => each.endsWith('=?'))) {
			const field = term.slice(0, -1);
			if (!typed.some((each) => each.startsWith(field)))
				throw this.#wrong(terms, `${alias} needs ${field}…`);
		}
		return all.filter((term) => !term.endsWith('=?'));
	}

	#set(configs: Configs, term: string, terms: string): void {
		const [, field = '', value] = /^([^=]*)(?:=(.*))?$/.exec(term) ?? [];
		if (field === '') throw this.#wrong(terms, `a term is missing; ${this.#known()}`);
		const format = CONFIGS.includes(field) ? `${field}:0-63` : this.#format(field);
		if (format === undefined) {
			const why = OF_RECORDING.includes(field)
				? `${field} says nothing about counting: leave it out`
				: `there is no ${field}; ${this.#known(field)}`;
			throw this.#wrong(terms, why);
		}
		const [config = '', ranges = ''] = format.split(':');
		if (!CONFIGS.includes(config))
			throw this.#wrong(terms, `${field} is in ${config}, which tstrace cannot set`);
		const number = numberOf(value ?? '1');
		if (number === undefined)
			throw this.#wrong(terms, `${field}=${value} is no number of 64 bits: give it as 12 or 0xc`);
		if (!put(configs, config as keyof Configs, parseCpuList(ranges), number))
			throw this.#wrong(terms, `${field}=${value} is too large: it has the bits ${format}`);
	}

	#wrong(terms: string, why: string): UsageError {
		return new UsageError(`-e ${this.#name}/${terms}/: ${why}`);
	}

	#known(word = ''): string {
		const names = [...this.aliases(), ...listOf(join(this.#folder, 'format'))];
		const near = word === '' ? '' : meant(word, names);
		const shown = names.slice(0, MOST_SHOWN).join(', ');
		const more = names.length > MOST_SHOWN ? `, and ${names.length - MOST_SHOWN} more` : '';
		return near ? near.slice(2) : `PMU ${this.#name} has ${shown || 'no events'}${more}`;
	}

	/** The events that have a name. */
	aliases(): string[] {
		return listOf(join(this.#folder, 'events')).filter(
			(name) => !/\.(scale|unit|snapshot|per-pkg)$/.test(name),
		);
	}

	#format(field: string): string | undefined {
		return listOf(join(this.#folder, 'format')).includes(field)
			? this.#text(`format/${field}`)
			: undefined;
	}

	#scaleOf(alias: string | undefined): Pick<PmuEvent, 'scale'> {
		if (alias === undefined) return {};
		const factor = Number(this.#text(`events/${alias}.scale`) ?? 1);
		const unit = this.#text(`events/${alias}.unit`);
		if (unit === undefined && factor === 1) return {};
		return { scale: { factor, unit: unit ?? 'events' } };
	}

	#text(path: string): string | undefined {
		return textOf(join(this.#folder, path))?.trim();
	}
}

const MOST_SHOWN = 8;

const MOST = 2n ** 64n - 1n;

function numberOf(text: string): bigint | undefined {
	if (!/^(0x[0-9a-f]{1,16}|\d{1,20})$/i.test(text)) return undefined;
	const number = BigInt(text);
	return number <= MOST ? number : undefined;
}

/** Puts a number, its lowest bit first, where these bits are; false: it has more. */
function put(
	configs: Configs,
	config: keyof Configs,
	bits: readonly number[],
	number: bigint,
): boolean {
	let left = number;
	for (const bit of bits.map(BigInt)) {
		configs[config] = (configs[config] & ~(1n << bit)) | ((left & 1n) << bit);
		left >>= 1n;
	}
	return left === 0n;
}
