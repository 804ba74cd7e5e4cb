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
