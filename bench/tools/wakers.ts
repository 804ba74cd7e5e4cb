/** offwaketime and wakeuptime against libbpf-tools' wakeuptime and offcputime: docs/tools/offwaketime.md. */

import { type Benchmark, toPeers } from '../experiments/measure.js';
import { bpfSide, type Contender, PIPE } from '../experiments/workloads.js';
import { cost, startUp } from '../guard/figures.js';
import { libbpfTool } from '../shared/peers.js';

const ours = (tool: string): Contender => ({
	name: `tstrace ${tool}`,
	command: ['bin/tstrace', tool, '-o', '/dev/null'],
});
const OFFWAKE = ours('offwaketime');
const WAKEUP = ours('wakeuptime');
const EXACT: Contender = {
	name: 'tstrace offwaketime --exact',
	command: [...OFFWAKE.command, '--exact'],
};
const HOPS: Contender = {
	name: 'tstrace offwaketime --hops 4',
	command: [...OFFWAKE.command, '--hops', '4'],
};
const THEIRS: Contender = { name: 'libbpf-tools wakeuptime', ...libbpfTool('wakeuptime') };
/** No package has an offwaketime that needs no compiler; this one does less. */
const OFFCPU: Contender = { name: 'libbpf-tools offcputime', ...libbpfTool('offcputime') };

const BPF = [OFFWAKE, EXACT, HOPS, WAKEUP, THEIRS, OFFCPU].map((each) => bpfSide(each));

export const wakers: Benchmark = {
	tool: 'offwaketime',
	experiments: [
		{
			workload: PIPE,
			sides: BPF,
			figures: [
				{
					key: 'bpf_ns',
					name: 'BPF time per context switch',
					unit: 'ns',
					ratios: toPeers(BPF),
				},
			],
		},
	],
	guarded: [startUp(OFFWAKE), cost(OFFWAKE), cost(WAKEUP)],
};
