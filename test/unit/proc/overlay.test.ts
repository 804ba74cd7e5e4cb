import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseMaps } from '../../../src/proc/maps.js';
import { mountsThere } from '../../../src/proc/mounts.js';
import { fileBelow, layersOf } from '../../../src/proc/overlay.js';

/** Of one line of /proc/PID/mounts. */
const layersIn = (options: string, type = 'overlay') =>
	mountsThere(`overlay / ${type} ${options} 0 0\n`).flatMap(layersOf);

test('the layers of an overlay, the uppermost first', () => {
	assert.deepEqual(layersIn('rw,relatime,lowerdir=/l/A:/l/B,upperdir=/o/diff,workdir=/o/work'), [
		'/o/diff',
		'/l/A',
		'/l/B',
	]);
	assert.deepEqual(layersIn('ro,lowerdir=/with\\040space'), ['/with space']);
	assert.deepEqual(layersIn('rw,lowerdir=/l/A::/data/B'), ['/l/A']);
	assert.deepEqual(layersIn('rw,lowerdir=/l/A', 'ext4'), []);
});

test('layers are bounded', () => {
	const lower = Array.from({ length: 5000 }, (_, i) => `/${i}`).join(':');
	assert.equal(layersIn(`rw,lowerdir=${lower}`).length, 256);
});

test('a file that is on no overlay, and one that is gone', () => {
	const { start, end } =
		parseMaps(readFileSync('/proc/self/maps', 'utf8')).find(({ inode }) => inode > 0) ??
		assert.fail();
	const range = `${start.toString(16)}-${end.toString(16)}`;
	assert.equal(fileBelow(`/proc/${process.pid}/map_files/${range}`), undefined);
	assert.equal(fileBelow(`/proc/${process.pid}/map_files/1000-2000`), undefined);
});
