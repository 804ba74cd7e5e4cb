/** koffi, the system's libbpf, and the kernel's symbols. */

import { TstraceError } from '../errors.js';
import { INSTALL_LIBBPF_ON, libbpf } from '../loader/ffi.js';
import { ownCapabilities } from '../loader/kernel.js';
import { INSTALL_KOFFI, koffi } from '../loader/koffi.js';
import { parseMaps } from '../proc/maps.js';
import { readMaps } from '../proc/process-facts.js';
import { kernelNames } from '../symbolize/symbols/kernel.js';
import { distributions } from '../symbolize/symbols/packages.js';
import { textOf } from '../text-of.js';
import { type Check, missing, ok, warn } from './check.js';

/** The npm package that calls libbpf and libc. */
export function caller(): Check {
	try {
		return ok('koffi', koffi().version);
	} catch (error) {
		if (!(error instanceof TstraceError)) throw error;
		const found = error.message.slice(0, error.message.lastIndexOf('; '));
		return missing(
			'koffi',
			found,
			'tstrace cannot call system functions: no tool runs',
			INSTALL_KOFFI,
		);
	}
}

/** Throws TstraceError where koffi cannot be loaded. */
export function library(): Check {
	koffi();
	try {
		const version = libbpf().libbpf_version_string();
		return judgeLibbpf({ version, path: pathOf(/\/libbpf\.so[^/]*$/) }, distributions(''));
	} catch (error) {
		if (!(error instanceof TstraceError)) throw error;
		return judgeLibbpf({ problem: error.message.split(';')[0] as string }, distributions(''));
	}
}

/** Where a library was loaded from. */
function pathOf(name: RegExp): string | undefined {
	return parseMaps(readMaps('self') ?? '').find(({ path }) => name.test(path))?.path;
}

export function judgeLibbpf(
	found: { version: string; path: string | undefined } | { problem: string },
	ids: readonly string[],
): Check {
	if ('version' in found) {
		return ok('libbpf', `${found.version.replace(/^v/, '')}${found.path ? `, ${found.path}` : ''}`);
	}
	const install = Object.entries(INSTALL_LIBBPF_ON).find(([id]) => ids.includes(id))?.[1];
	return missing(
		'libbpf',
		found.problem,
		'BPF programs cannot be loaded: no tool runs',
		install ?? 'install libbpf 1.0 or newer (libbpf.so.1) with the package manager',
	);
}

/** Reads a name, as tools do. */
export function kernelSymbols(): Check {
	const text = textOf('/proc/kallsyms');
	const line = /^([0-9a-f]{16}) [Tt] (schedule)$/m.exec(text ?? '');
	const address = BigInt(`0x${line?.[1] ?? '0'}`);
	const { names } = kernelNames(Float64Array.of(Number(BigInt.asIntN(64, address))));
	return judgeKernelSymbols({
		readable: text !== undefined && text !== '',
		named: address !== 0n && names[0] === 'schedule',
		restrict: Number(textOf('/proc/sys/kernel/kptr_restrict') ?? 0),
		syslog: ownCapabilities().has('CAP_SYSLOG'),
	});
}

interface SymbolFacts {
	readonly readable: boolean;
	/** A function's name was found by its address. */
	readonly named: boolean;
	/** kernel.kptr_restrict */
	readonly restrict: number;
	/** CAP_SYSLOG */
	readonly syslog: boolean;
}

/** kernel/ksyms_common.c: who may see addresses. */
export function judgeKernelSymbols({ readable, named, restrict, syslog }: SymbolFacts): Check {
	const name = 'kernel symbols';
	const setting = `kptr_restrict ${restrict}`;
	if (named) return ok(name, `/proc/kallsyms has addresses (${setting})`);
	const costs = 'kernel frames have no names';
	if (!readable) {
		return warn(name, 'no /proc/kallsyms', costs, 'a kernel with CONFIG_KALLSYMS=y');
	}
	const found = `addresses are hidden (${setting}${syslog ? '' : ', no CAP_SYSLOG'})`;
	if (restrict >= 2) {
		const further = syslog ? '' : ', and run tstrace with CAP_SYSLOG (sudo)';
		return warn(name, found, costs, `sudo sysctl kernel.kptr_restrict=1${further}`);
	}
	return warn(
		name,
		found,
		costs,
		syslog ? 'a kernel whose addresses are shown' : 'sudo tstrace …: CAP_SYSLOG shows them',
	);
}
