import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import type { TableAnswer } from '../../../../src/symbolize/walks/table-orders.js';
import { TableReader } from '../../../../src/symbolize/walks/table-reader.js';

/** Files of one name, as a file and its next version have it, and on btrfs files of different subvolumes. */
const changedAt = (changed_ns: bigint) => ({ inode: 7n, device: 1, changed_ns });

test('of two versions of a file the second one waits until the first is read', () => {
	const reader = new TableReader(() => {});
	const order = (changed_ns: bigint) => reader.order(changedAt(changed_ns), '/none');
	// Nobody knew when it was changed; who meets it does.
	assert.equal(order(0n), true);
	assert.equal(order(5n), true);
	assert.equal(order(5n), true);
	assert.equal(order(6n), false);
	assert.equal(reader.order({ ...changedAt(6n), inode: 8n }, '/none'), true);
	reader.close();
});

/** A file as who has it mapped knows it. */
function identityOf(path: string) {
	const { ino, ctimeNs } = statSync(path, { bigint: true });
	return { inode: ino, device: 1, changed_ns: ctimeNs };
}

test('each order is answered, by a table or by nothing; waiting ends when all are', () => {
	const answers = new Map<bigint, TableAnswer>();
	const reader = new TableReader((file, answer) => answers.set(file.inode, answer));
	assert.equal(reader.isIdle, true);
	const program = identityOf(process.execPath);
	const text = identityOf('package.json');
	assert.ok(reader.order(program, process.execPath));
	assert.ok(reader.order(text, 'package.json'));
	assert.ok(reader.order(changedAt(1n), '/none'));
	// Another file has its path by now.
	assert.ok(reader.order({ inode: 9n, device: 1, changed_ns: 9n }, process.execPath));
	assert.ok(reader.order({ inode: 0n, device: 0, changed_ns: 0n }, undefined));
	assert.deepEqual([reader.isIdle, reader.problem], [false, undefined]);
	reader.wait(60_000);
	assert.deepEqual([reader.isIdle, reader.problem], [true, undefined]);
	const found = (inode: bigint) => {
		const answer = answers.get(inode) ?? assert.fail(`${inode}`);
		if (answer.found === 'nothing') return answer.found;
		assert.equal(answer.lacksRules, false);
		return [answer.changed_ns, answer.table !== undefined && answer.table.rows.length > 1000];
	};
	assert.deepEqual(found(program.inode), [program.changed_ns, true]);
	// It is read, and has none.
	assert.deepEqual(found(text.inode), [text.changed_ns, false]);
	assert.deepEqual([found(7n), found(9n)], ['nothing', 'nothing']);
	// The vdso's is small.
	const vdso = answers.get(0n);
	assert.ok(vdso?.found === 'table' && vdso.table && vdso.table.rows.length > 0);
	reader.wait(60_000);
	reader.close();
});

test('a file that takes longer than 5 s is told, by its name: others wait for it', (t) => {
	let now_ms = 1000;
	const { now } = performance;
	performance.now = () => now_ms;
	t.after(() => {
		performance.now = now;
	});
	const reader = new TableReader(() => {});
	t.after(() => reader.close());
	const link = '/proc/self/exe';
	reader.order(changedAt(1n), link);
	now_ms += 4000;
	reader.order({ ...changedAt(1n), inode: 8n }, '/none');
	now_ms += 900;
	assert.equal(reader.problem, undefined);
	now_ms += 200;
	assert.match(reader.problem ?? '', new RegExp(`longer than 5 s, .*: ${process.execPath}$`));
	// Nothing is late once all is answered; the next order has its own time.
	reader.wait(1e9);
	assert.equal(reader.problem, undefined);
	now_ms += 60_000;
	reader.order({ inode: 0n, device: 0, changed_ns: 0n }, undefined);
	assert.equal(reader.problem, undefined);
	now_ms += 6000;
	assert.match(reader.problem ?? '', /: \[vdso\]$/);
});

test('4096 orders wait at most; none does when it is closed', (t) => {
	const reader = new TableReader(() => {});
	t.after(() => reader.close());
	const orders = Array.from({ length: 4100 }, (_, i) =>
		reader.order({ ...changedAt(1n), inode: BigInt(i + 1) }, '/none'),
	);
	assert.equal(orders.filter((isTaken) => isTaken).length, 4096);
	assert.deepEqual(orders.slice(4095, 4097), [true, false]);
	reader.close();
	assert.equal(reader.isIdle, true);
});

test('who has met a file knows when it was changed: that is what the answer is about', () => {
	const files: bigint[] = [];
	const reader = new TableReader((file) => files.push(file.changed_ns));
	assert.ok(reader.order(changedAt(0n), '/none'));
	assert.ok(reader.order(changedAt(5n), '/none'));
	assert.ok(reader.order(changedAt(5n), '/none'));
	reader.wait(60_000);
	assert.deepEqual(files, [5n], 'and it is read once');
	reader.close();
});
