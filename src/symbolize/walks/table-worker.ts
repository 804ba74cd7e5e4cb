/**
 * Reads unwind tables, in a thread of its own: that takes a quarter of a second for a large program, and a file may
 * belong to somebody who lets no read end.
 */
import { closeSync, fstatSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { type Bytes, FileBytes, MemoryBytes, SymbolError } from '../../elf/bytes.js';
import { Elf } from '../../elf/elf.js';
import { unwind_constant } from '../../generated/common.js';
import { openRegular } from '../../proc/open.js';
import { type RuntimeFile, runtimeIn } from '../../runtimes/recognise.js';
import { packed } from '../../unwind/packed-table.js';
import { RuleSet } from '../../unwind/rule.js';
import { TableWorkspace, unwindTable } from '../../unwind/table.js';
import { readVdso } from '../mappings/vdso.js';
import type { TableAnswer, TableOrder, WorkerData } from './table-orders.js';

/** Of all files. */
const rules = new RuleSet(unwind_constant.UNWIND_MAX_RULES);
const workspace = new TableWorkspace();
const { answers, port } = workerData as WorkerData;

/** How many of the rules the kernel has, or will have with the answers that were sent. */
let sentRules = 0;

function answerOf({ name, path, inode, changed_ns }: TableOrder): TableAnswer {
	if (path === undefined) {
		const image = readVdso();
		return { name, found: 'table', changed_ns, ...tableOf(image && new MemoryBytes(image)) };
	}
	// Who ordered it has asked: processes that ask are to end with tstrace, not with this thread.
	const file = openRegular(path, { asked: true });
	if (!file) return { name, found: 'nothing' };
	try {
		const stat = fstatSync(file.fd, { bigint: true });
		// Overlay filesystems give files other inodes than their mappings.
		if (stat.ino !== inode && stat.ctimeNs !== changed_ns) return { name, found: 'nothing' };
		const bytes = new FileBytes(file.fd, file.stat.size);
		const found = { ...tableOf(bytes), runtime: runtimeOf(bytes) };
		return { name, found: 'table', changed_ns: stat.ctimeNs, ...found };
	} finally {
		closeSync(file.fd);
	}
}

function tableOf(bytes: Bytes | undefined) {
	const table = bytes && packed(unwindTable(bytes, workspace), rules, sentRules);
	return { table, lacksRules: rules.isExceeded };
}

function runtimeOf(bytes: Bytes): RuntimeFile | undefined {
	try {
		return runtimeIn(new Elf(bytes));
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
		return undefined;
	}
}

/** Somebody else's file system may answer each call with an error: that costs this file's table only. */
function answerOrNothing(order: TableOrder): TableAnswer {
	try {
		return answerOf(order);
	} catch {
		return { name: order.name, found: 'nothing' };
	}
}

port.on('message', (order: TableOrder) => {
	const answer = answerOrNothing(order);
	const table = answer.found === 'table' ? answer.table : undefined;
	const moved = table ? [table.pages, table.counts, table.rows, table.rules] : [];
	port.postMessage(
		answer,
		moved.map(({ buffer }) => buffer as ArrayBuffer),
	);
	if (table) sentRules = rules.count;
	Atomics.add(answers, 0, 1);
	Atomics.notify(answers, 0);
});
