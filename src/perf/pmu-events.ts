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
	/** It counts what happens in a part of the machine that CPUs share, whoever runs. */
	readonly shared: boolean;
	/** What one of the count is, where it is no event: "Joules". */
	readonly scale?: { readonly factor: number; readonly unit: string };
}

/** "power/energy-pkg/u": its parts; undefined: the text is not of that form. */
export function splitPmuEvent(
	text: string,
): { pmu: string; terms: string; modifier: string } | undefined {
	const match = /^([\w.*?-]+)\/([^/]*)\/:?(\w*)$/.exec(text);
	if (!match) return undefined;
	const [, pmu = '', terms = '', modifier = ''] = match;
	return { pmu, terms, modifier };
}

/**
 * The event of each PMU that the name stands for: "uncore_imc" for uncore_imc_0, uncore_imc_1, …; "*" and "?" for any
 * letters. Throws UsageError, which names what there is.
 */
export function pmuEvents(pmu: string, terms: string, folder = FOLDER): PmuEvent[] {
	const all = listOf(folder);
	const pattern = pmu.replace(/[.-]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.');
	const named = all.filter((name) => new RegExp(`^${pattern}$`).test(name));
	const found = named.length > 0 ? named : all.filter((name) => numberedAs(name, pmu));
	if (found.length === 0) {
		const near = meant(pmu, all) || `: this machine has ${all.join(', ')};`;
		throw new UsageError(`-e ${pmu}/${terms}/: there is no PMU ${pmu}${near} see ${folder}`);
	}
	return found.sort(byNumber).map((name) => new Pmu(folder, name).event(terms));
}

/** "power/energy-pkg/" for "energy-pkg": events of that name, of whatever PMU. */
export function pmuEventsNamed(name: string, folder = FOLDER): string[] {
	return listOf(folder)
		.filter((pmu) => new Pmu(folder, pmu).aliases().includes(name))
		.map((pmu) => `${pmu}/${name}/`);
}

const numberedAs = (name: string, pmu: string) =>
	name.startsWith(`${pmu}_`) && /^\d+$/.test(name.slice(pmu.length + 1));

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
const OF_RECORDING = ['period', 'freq', 'call-graph', 'stack-size', 'percore', 'metric-id'];

class Pmu {
	readonly #name: string;
	readonly #folder: string;

	constructor(folder: string, name: string) {
		this.#name = name;
		this.#folder = join(folder, name);
	}

	event(terms: string): PmuEvent {
		const configs: Configs = { config: 0n, config1: 0n, config2: 0n };
		const [alias] = terms.split(',').filter((term) => this.aliases().includes(term));
		let name = `${this.#name}/${terms}/`;
		for (const term of terms.split(',')) {
			const [key = '', value] = term.split('=');
			if (key === 'name' && value) name = value;
			else this.#add(configs, key, value, terms);
		}
		const mask = this.#text('cpumask');
		const cpus = mask ?? this.#text('cpus');
		const type = Number(this.#text('type'));
		if (!Number.isInteger(type))
			throw new UsageError(`-e ${name}: the kernel does not tell the type of PMU ${this.#name}`);
		return {
			name,
			type,
			...configs,
			...(cpus ? { onCpus: parseCpuList(cpus) } : {}),
			shared: mask !== undefined,
			...(alias === undefined ? {} : this.#scaleOf(alias)),
		};
	}

	#add(configs: Configs, key: string, value: string | undefined, terms: string): void {
		const isAlias = value === undefined && this.aliases().includes(key);
		const alias = isAlias ? this.#text(`events/${key}`) : undefined;
		for (const term of alias?.split(',') ?? []) {
			const [field = '', given] = term.split('=');
			// "?": whoever types it is to say.
			if (given !== '?') this.#set(configs, field, given, terms);
			else if (!terms.split(',').some((each) => each.startsWith(`${field}=`)))
				throw this.#wrong(terms, `${key} needs ${field}=…`);
		}
		if (alias === undefined) this.#set(configs, key, value, terms);
	}

	#set(configs: Configs, field: string, value: string | undefined, terms: string): void {
		if (field === '') throw this.#wrong(terms, `a term is missing; ${this.#known()}`);
		const format = CONFIGS.includes(field) ? `${field}:0-63` : this.#format(field);
		if (format === undefined) {
			const why = OF_RECORDING.includes(field)
				? `${field} says nothing about counting: leave it out`
				: `there is no ${field}; ${this.#known(field)}`;
			throw this.#wrong(terms, why);
		}
		const number = numberOf(value ?? '1');
		if (number === undefined)
			throw this.#wrong(terms, `${field}=${value} is no number of 64 bits: give it as 12 or 0xc`);
		if (!put(configs, format, number))
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

	#scaleOf(alias: string): Pick<PmuEvent, 'scale'> {
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

function numberOf(text: string): bigint | undefined {
	return /^(0x[0-9a-f]{1,16}|\d{1,19})$/i.test(text) ? BigInt(text) : undefined;
}

/** Puts a number's bits, the lowest first, where a format like "config:0-7,32-35" has them; false: it has too many. */
function put(configs: Configs, format: string, number: bigint): boolean {
	const [field = '', ranges = ''] = format.split(':');
	let left = number;
	for (const bit of parseCpuList(ranges)) {
		configs[field as keyof Configs] |= (left & 1n) << BigInt(bit);
		left >>= 1n;
	}
	return left === 0n;
}
