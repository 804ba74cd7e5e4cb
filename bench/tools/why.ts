/** why against libbpf-tools' offcputime, which shows less, and what it costs the workload: docs/tools/why.md. */

import { type Benchmark, toPeers, toUntraced } from '../experiments/measure.js';
import {
	bpfSide,
	type Contender,
	PIPE,
	slowFigures,
	slowSide,
	untraced,
} from '../experiments/workloads.js';
import { cost, startUp } from '../guard/figures.js';
import { libbpfTool } from '../shared/peers.js';

const WHY: Contender = {
	name: 'tstrace why',
	command: ['bin/tstrace', 'why', '-o', '/dev/null', '600'],
};
const OFFCPU: Contender = { name: 'libbpf-tools offcputime', ...libbpfTool('offcputime') };
const SLOW = [untraced(), slowSide(WHY), slowSide(OFFCPU)];
const BPF = [WHY, OFFCPU].map((each) => bpfSide(each));

export const why: Benchmark = {
	tool: 'why',
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
		{ workload: PIPE, sides: SLOW, figures: slowFigures(toUntraced(SLOW), toPeers(SLOW), true) },
	],
	guarded: [startUp(WHY), cost(WHY)],
};
