/** All benchmarks, in the order of the report. */
import type { Benchmark } from '../experiments/measure.js';
import { diff, flamegraph, fold } from './converters.js';
import { memleak } from './memleak.js';
import { offcputime } from './offcputime.js';
import { profile } from './profile.js';
import { runqlat } from './runqlat.js';
import { schedlat } from './schedlat.js';
import { stat } from './stat.js';
import { syscount } from './syscount.js';
import { timehist } from './timehist.js';
import { trace } from './trace.js';
import { unwind } from './unwind.js';
import { wakers } from './wakers.js';
import { why } from './why.js';

export const BENCHMARKS: readonly Benchmark[] = [
	runqlat,
	schedlat,
	timehist,
	syscount,
	trace,
	offcputime,
	wakers,
	why,
	profile,
	stat,
	memleak,
	unwind,
	flamegraph,
	diff,
	fold,
];
