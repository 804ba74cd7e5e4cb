/** How user probes are put in on this kernel, how their programs know them apart, and where none may be. */
import { release } from 'node:os';
import { chooseWay } from '../../../bpf/fallback.js';
import { versionOf } from '../../../loader/kernel.js';
import { kernelHasCookies, multiProbeType } from '../../../loader/probes.js';
import { textOf } from '../../../text-of.js';

interface ProbeWay {
	/** What programs are loaded as, for links of many probes; undefined: each has a link. */
	readonly multiType: number | undefined;
	/** Whether each probe hands over what it is; else programs look it up by its place. */
	readonly cookies: boolean;
	/** For -v. */
	readonly because: string;
}

let chosen: ProbeWay | undefined;

/** Asked of the kernel's types once, while they are at hand. Throws as chooseWay does. */
export function chooseProbes(): ProbeWay {
	chosen ??= choose();
	return chosen;
}

function choose(): ProbeWay {
	const multiType = multiProbeType();
	const ways = [
		{
			name: 'multi',
			missing: () =>
				multiType === undefined
					? 'the kernel cannot attach many probes with one link (Linux 6.13 can)'
					: undefined,
		},
		{ name: 'links', missing: () => undefined },
	] as const;
	const way = chooseWay(ways, 'one link attaches all probes of a file');
	const cookies = kernelHasCookies();
	return {
		multiType: way.name === 'multi' ? multiType : undefined,
		cookies,
		because: `attaches probes with ${way.name}: ${way.because}${cookies ? '' : '; recognises probes by their address, as the kernel has no cookies for probes (Linux 5.15 has them)'}`,
	};
}

/**
 * Whether probes of returns end a process whose system calls are filtered: since 6.11 such a return goes
 * by way of a system call of its own, on x86-64, which no filter knew; "seccomp: passthrough uretprobe
 * systemcall without filtering" (cf6cb56ef244) came with 6.14, 6.13.3 and 6.12.14. No type or symbol
 * of the kernel's tells, so that this goes by its version.
 */
export function returnProbesEndFiltered(kernel: string, arch: string): boolean {
	const [major, minor, patch] = versionOf(kernel);
	if (arch !== 'x64' || major !== 6) return false;
	return minor === 11 || (minor === 12 && patch < 14) || (minor === 13 && patch < 3);
}

/** Why a process must not have probes of returns; undefined: it may. */
export function whyNoReturnProbes(pid: number): string | undefined {
	if (process.env.TSTRACE_RETURN_PROBES === '1') return undefined;
	if (!returnProbesEndFiltered(release(), process.arch)) return undefined;
	if (!/^Seccomp:\s*[12]$/m.test(textOf(`/proc/${pid}/status`) ?? '')) return undefined;
	return (
		`it filters its system calls (seccomp), and Linux ${release()} would kill it at the first return ` +
		'probe. Linux 6.12.14, 6.13.3 and 6.14 have the fix; if your distribution has it too, set ' +
		'TSTRACE_RETURN_PROBES=1'
	);
}
