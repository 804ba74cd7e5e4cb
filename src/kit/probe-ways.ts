/** How user probes are put in on this kernel, and how their programs know them apart. */
import { kernelHasCookies, multiProbeType } from '../loader/probes.js';
import { chooseWay } from './ways.js';

export interface ProbeWay {
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
			missing: () => (multiType === undefined ? 'no links of many probes (6.13)' : undefined),
		},
		{ name: 'links', missing: () => undefined },
	] as const;
	const way = chooseWay(ways, 'all probes of a file have one link');
	const cookies = kernelHasCookies();
	return {
		multiType: way.name === 'multi' ? multiType : undefined,
		cookies,
		because: `probes by way of ${way.name}: ${way.because}${cookies ? '' : '; known by their places: no cookies (5.15)'}`,
	};
}
