/** Records of `tstrace trace` as rows, for JSON. */
import { errnoName } from '../../abi/errno.js';
import type { Key } from '../../aggregate/row-key.js';
import type { ThreadName } from '../../bpf/thread-names.js';
import { LineBuffer } from '../../render/line-buffer.js';
import type { CallForms } from './call-forms.js';
import type { KnownFiles } from './known-files.js';
import type { CallPlan } from './plans.js';
import * as record from './record.js';
import { endText, type Lifetimes, signalFields } from './thread-events.js';

const TEXT_BYTES = 16_384;
const text = new LineBuffer(TEXT_BYTES);

/** What is not known is not there. */
export function rowOf(
	call: record.CallRecord,
	forms: CallForms,
	files: KnownFiles,
	{ tgid, tid, comm }: ThreadName,
	epoch_ms: number,
	lifetimes: Lifetimes,
): Key {
	const isCall = call.type === record.IS_CALL;
	const start_ns = isCall ? call.end_ns - call.duration_ns : call.end_ns;
	return {
		event: isCall ? 'call' : call.type === record.IS_EXIT ? 'exit' : 'signal',
		time: new Date(epoch_ms + start_ns / 1e6).toISOString(),
		time_ns: start_ns,
		pid: tgid,
		tid,
		comm,
		...(isCall ? callFields(call, forms, files) : threadFields(call, lifetimes)),
		...parentFields(call),
		...(call.lost ? { lost_before: call.lost } : {}),
	};
}

function callFields(call: record.CallRecord, forms: CallForms, files: KnownFiles): Key {
	const form = forms.of(call.call);
	text.clear();
	text.room(TEXT_BYTES);
	if (call.argumentCount > 0) form.writeArguments(text, call);
	const unfinished = (call.flags & record.UNFINISHED) !== 0;
	const before = (call.flags & record.BEGAN_BEFORE) !== 0;
	const file = call.resultFile === 0 ? undefined : files.textOf(call.idAt(call.resultFile));
	const errno = unfinished ? 0 : record.failureOf(call, form.plan.returns);
	return {
		syscall: form.plan.name,
		args: Buffer.from(text.bytes()).toString('latin1'),
		...(unfinished ? {} : { result: errno ? -1 : resultOf(call, form.plan.returns) }),
		...(file === undefined ? {} : { result_file: file }),
		...(errno ? { error: errnoName(errno) } : {}),
		...(before ? {} : { duration_ns: call.duration_ns }),
		...(unfinished ? { unfinished: 1 } : {}),
	};
}

function threadFields(call: record.CallRecord, lifetimes: Lifetimes): Key {
	if (call.type === record.IS_EXIT)
		return { end: endText(call.resultLow), lifetime_ns: lifetimes.of_ns(call) };
	const { signal, code, sender } = signalFields(call);
	return { signal, ...(code ? { code } : {}), ...(sender ? { sender_pid: sender } : {}) };
}

function parentFields(call: record.CallRecord): Key {
	if (call.parent === 0) return {};
	const { pid, comm } = call.parentThread();
	return { parent_pid: pid, parent_comm: comm };
}

/** Exact as a number where it is one, else as text. */
function resultOf(call: record.CallRecord, returns: CallPlan['returns']): number | string {
	if (returns === 'narrow address') return call.resultLow;
	const value = BigInt.asIntN(64, (BigInt(call.resultHigh) << 32n) | BigInt(call.resultLow));
	const isExact = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
	return isExact ? Number(value) : `${value}`;
}
