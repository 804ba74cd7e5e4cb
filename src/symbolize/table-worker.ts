/**
 * Reads unwind tables, in a thread of its own: that takes a quarter of a second for a large program, and a file may
 * belong to somebody who lets no read end.
 */
import { closeSync, fstatSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { FileBytes, MemoryBytes } from '../elf/bytes.js';
import { profile } from '../generated/profile.js';
import { packed } from '../unwind/packed-table.js';
import { RuleSet } from '../unwind/rule.js';
import { unwindTable } from '../unwind/table.js';
import { openRegular } from './open.js';
import type { TableAnswer, TableOrder, WorkerData } from './table-orders.js';
import { readVdso } from './vdso.js';

/** Of all files. */
const rules = new RuleSet(profile.enums.unwind_constant.UNWIND_MAX_RULES);
const { answers, port } = workerData as WorkerData;

function answerOf({ name, path, inode, changed_ns, version }: TableOrder): TableAnswer {
	if (path === undefined) {
		const image = readVdso();
		const table = image && packed(unwindTable(new MemoryBytes(image)), rules);
		return { name, found: 'table', changed_ns, version, table };
	}
	const file = openRegular(path);
	if (!file) return { name, found: 'nothing' };
	try {
		const stat = fstatSync(file.fd, { bigint: true });
		// Overlay filesystems give files other inodes than their mappings.
		if (Number(stat.ino) !== inode && stat.ctimeNs !== changed_ns)
			return { name, found: 'nothing' };
		const found = { name, changed_ns: stat.ctimeNs, version: `${stat.size} ${stat.mtimeNs}` };
		if (found.version === version) return { ...found, found: 'same' };
		const table = unwindTable(new FileBytes(file.fd, file.stat.size));
		return { ...found, found: 'table', table: packed(table, rules) };
	} finally {
		closeSync(file.fd);
	}
}

port.on('message', (order: TableOrder) => {
	const answer = answerOf(order);
	const table = answer.found === 'table' ? answer.table : undefined;
	const moved = table ? [table.pages, table.counts, table.rows, table.rules] : [];
	port.postMessage(
		answer,
		moved.map(({ buffer }) => buffer as ArrayBuffer),
	);
	Atomics.add(answers, 0, 1);
	Atomics.notify(answers, 0);
});
