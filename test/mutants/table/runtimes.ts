/** Functions of runtimes: what walks take of them. */
import type { Mutation } from '../mutation.js';

export const OF_RUNTIMES: readonly Mutation[] = [
	{
		id: 'J1',
		file: 'bpf/lib/runtimes/v8.h',
		from: 'of->literal_id ^ (u64)of->parameters << 7 ^ (u64)of->token_offset << 10;',
		to: 'of->literal_id ^ (u64)of->parameters << 7 ^ (u64)of->token_offset << 9;',
		bug: 'what a walk takes of a function is not what user space finds there',
		test: 'live/javascript',
		only: 'profile: functions that run',
	},
	{
		id: 'J2',
		file: 'bpf/lib/runtimes/v8.h',
		from: 'return is_leaf || !*is_callers;',
		to: 'return !*is_callers;',
		bug: "while V8's code without a frame runs for a function, the function is not in the stack",
		test: 'live/javascript',
		only: 'profile: functions that run',
	},
	{
		id: 'J3',
		file: 'bpf/lib/runtimes/v8.h',
		from: 'walk->pointed_ip = frame.ip;',
		to: 'walk->pointed_ip = frame.fp;',
		bug: 'stacks end at the first function of JavaScript',
		test: 'live/javascript',
		only: 'profile: functions that run',
	},
	{
		id: 'J4',
		file: 'bpf/lib/runtimes/v8.h',
		from: '(codes->runtime && kind == CODE_WITHOUT_FILE)',
		to: '(codes->runtime && kind == CODE_WITHOUT_FILE && walk->is_exact)',
		bug: 'functions that V8 has compiled have names only where a thread runs them',
		test: 'live/javascript',
		only: 'profile: functions that run',
	},
	{
		id: 'J5',
		file: 'bpf/lib/runtimes/functions.h',
		from: '(u64)is_callers << FUNCTION_OF_CALLER_BIT |',
		to: '0UL << FUNCTION_OF_CALLER_BIT |',
		bug: "V8's code that a function has called is not shown",
		test: 'live/javascript',
		only: 'profile: functions that run',
	},
	{
		id: 'J6',
		file: 'bpf/lib/stacks/stacks.h',
		from: 'bpf_ringbuf_output(&function_stacks, &here->user, bytes, 0);',
		to: 'bpf_ringbuf_output(&function_stacks, &here->user, 0, 0);',
		bug: 'functions of a process that ends before tstrace prints have no names',
		test: 'live/javascript',
		only: 'COMMAND ends before tstrace prints',
	},
];
