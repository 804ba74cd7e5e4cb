/** Names of threads, out of records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThreadNames } from '../../../src/bpf/thread-names.js';

/** A record: tgid, tid, comm. */
function record(tgid: number, tid: number, comm: string): Uint32Array {
	const bytes = Buffer.alloc(24);
	bytes.writeUInt32LE(tgid, 0);
	bytes.writeUInt32LE(tid, 4);
	bytes.write(comm, 8, 15, 'latin1');
	return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 24));
}

test('a thread that changes any letter of its name has its new name', () => {
	const names = new ThreadNames();
	const shown = (comm: string, tgid = 7, tid = 8) =>
		Buffer.from(names.plain(record(tgid, tid, comm), 0)).toString();
	const old = 'kworker/u8:1-ev';
	assert.equal(shown(old), `${old}[8/7]`);
	for (const [at, letter] of [...old].entries()) {
		const changed = `${old.slice(0, at)}${letter === '_' ? '-' : '_'}${old.slice(at + 1)}`;
		assert.equal(shown(changed), `${changed}[8/7]`);
		assert.equal(shown(old), `${old}[8/7]`);
	}
	assert.equal(shown(old, 8, 8), `${old}[8]`, 'its number may be that of another process');
	assert.equal(shown('swapper/1', 0, 0), '<idle>');
});

test('a name is as wide as its column, says whose thread it is, and does a terminal no harm', () => {
	const names = new ThreadNames(16);
	const padded = (tgid: number, tid: number, comm: string) =>
		Buffer.from(names.padded(record(tgid, tid, comm), 0)).toString();
	assert.equal(padded(8, 8, 'sh'), 'sh[8]'.padEnd(16));
	assert.equal(padded(7, 8, 'a-long-name'), 'a-long-name[8/7]');
	assert.equal(padded(7, 9, 'a-longer-name'), 'a-longer-name[9/7]');
	assert.equal(padded(10, 10, '\u001b[2J'), '\\x1b[2J[10]'.padEnd(16));
	assert.equal(padded(0, 0, 'swapper/3'), '<idle>'.padEnd(16));
	// What is not idle, though its number is not known here; and a process of that name.
	assert.equal(padded(0, 0, 'sh'), 'sh[0]'.padEnd(16));
	assert.equal(padded(11, 11, 'swapper/3'), 'swapper/3[11]'.padEnd(16));
});

test('a thread whose name stands elsewhere in a record has that one', () => {
	const words = Uint32Array.from([...record(7, 8, 'first'), ...record(70, 71, 'second')]);
	const names = new ThreadNames();
	const { tgid, tid, comm, text } = names.known(words, 0, 8);
	assert.deepEqual([tgid, tid, comm, text], [7, 8, 'second', 'second[8/7]']);
	assert.equal(names.known(words, 0).comm, 'first');
	assert.equal(names.known(words, 6).text, 'second[71/70]');
});
