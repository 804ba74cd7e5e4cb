/** All mutations that were chosen by hand. */
import type { Mutation } from './mutation.js';
import { OF_CALLS } from './table/calls.js';
import { OF_COUNTING } from './table/counting.js';
import { OF_FILTERS } from './table/filters.js';
import { OF_MEMORY } from './table/memory.js';
import { OF_OBJECTS } from './table/objects.js';
import { OF_OFF_CPU } from './table/off-cpu.js';
import { OF_RUNTIMES } from './table/runtimes.js';
import { OF_SAMPLE } from './table/sample.js';
import { OF_SCHEDULING } from './table/scheduling.js';
import { OF_STACKS } from './table/stacks.js';
import { OF_TIMEHIST } from './table/timehist.js';
import { OF_TRACED } from './table/traced.js';
import { OF_USER_SPACE } from './table/user-space.js';
import { OF_WAKERS } from './table/wakers.js';
import { OF_WHY } from './table/why.js';

export const MUTATIONS: readonly Mutation[] = [
	...OF_FILTERS,
	...OF_SCHEDULING,
	...OF_TIMEHIST,
	...OF_OFF_CPU,
	...OF_WAKERS,
	...OF_OBJECTS,
	...OF_STACKS,
	...OF_RUNTIMES,
	...OF_CALLS,
	...OF_TRACED,
	...OF_MEMORY,
	...OF_USER_SPACE,
	...OF_WHY,
	...OF_COUNTING,
	...OF_SAMPLE,
];
