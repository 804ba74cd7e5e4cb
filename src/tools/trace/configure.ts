/** Before loading: tells the programs of `tstrace trace` what is wanted. */
import { randomBytes } from 'node:crypto';
import { callAt, callConstants } from '../../bpf/calls/calls.js';
import type { trace as layout } from '../../generated/trace.js';
import type { BpfObject } from '../../loader/object.js';
import { CallStacks } from './call-stacks.js';
import { TOLD_FILES } from './known-files.js';
import type { Settings } from './options.js';
import { pathConstants } from './path-globs.js';
import { hasDescriptor, hasPath, namedIndexes } from './plans.js';

/** Calls that can have what the options ask for; undefined: all. */
function wantedCalls({
	calls,
	paths,
	descriptor,
	planner,
}: Settings): readonly number[] | undefined {
	if (paths.length === 0 && descriptor === undefined) return calls;
	const can = paths.length > 0 ? hasPath : hasDescriptor;
	return (calls ?? namedIndexes()).filter((index) => can(planner.plan(callAt(index))));
}

export function configure(object: BpfObject<typeof layout>, settings: Settings): void {
	callConstants(object, wantedCalls(settings));
	object.setConstants({
		only_failed: settings.onlyFailed,
		only_successful: settings.onlySuccessful,
		by_descriptor: settings.descriptor !== undefined,
		only_descriptor: settings.descriptor ?? 0,
		with_ends: settings.ends,
		// What it writes would be traced, and written.
		filter_but_tgid: process.pid,
	});
	object
		.constantBytes('min_duration_ns')
		.setBigUint64(0, BigInt(Math.round(settings.min_ns)), true);
	object.constantBytes('files_seed').setBigUint64(0, randomBytes(8).readBigUInt64LE(), true);
	if (settings.paths.length > 0) pathConstants(object, settings.paths);
	object.map('records').setMaxEntries(settings.buffer_bytes);
	if (settings.stacks) CallStacks.configure(object, settings.stacks);
	if (settings.files) object.map('files_told').setMaxEntries(TOLD_FILES);
}
