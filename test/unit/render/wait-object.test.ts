/** What a thread waited for, in few characters: of a path the end is left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WaitObject } from '../../../src/aggregate/wait-object.js';
import { objectText } from '../../../src/render/wait-object.js';

const tar = { pid: 10491, comm: 'tar' };
const gzip = { pid: 10492, comm: 'gzip' };
const path = '/var/lib/mysql/shop/orders.ibd';

const TEXTS: ReadonlyArray<readonly [object: WaitObject, text: string, room?: number]> = [
	[{ type: 'file', path }, path],
	[{ type: 'file', path }, path, path.length],
	[{ type: 'file', path }, '…b/mysql/shop/orders.ibd', 24],
	[{ type: 'file', path, deleted: true }, '…p/orders.ibd (deleted)', 23],
	// Less says nothing, whatever room there is.
	[{ type: 'device', path }, '…/orders.ibd', 3],
	[{ type: 'file', path: '/a\u001b[31m\nb' }, '/a\\x1b[31m\\x0ab'],
	[
		{ type: 'pipe', end: 'write', path: '', inode: 7, other_end: [gzip] },
		'pipe write → gzip (10492)',
	],
	[
		{ type: 'pipe', end: 'read', path: '/run/fifo', inode: 7, other_end: [tar, gzip] },
		'pipe read /run/fifo ← tar (10491) +1',
	],
	[{ type: 'pipe', end: 'read', path: '', inode: 7, other_end: [] }, 'pipe read'],
	[
		{ type: 'unix socket', path: '@x', inode: 7, peer_inode: 8, other_end: [tar] },
		'unix socket @x ↔ tar (10491)',
	],
	[
		{ type: 'socket', protocol: 'tcp', local: '[::1]:9', remote: '[::1]:80', other_end: [tar] },
		'tcp [::1]:80 ↔ tar (10491)',
	],
	[
		{ type: 'socket', protocol: 'udp', local: '0.0.0.0:53', remote: '', other_end: [] },
		'udp at 0.0.0.0:53',
	],
	[{ type: 'pipe', end: 'write', path: '', inode: 7, other_end: [gzip] }, 'pipe write → gzip', 24],
	[{ type: 'event', name: '[eventfd]' }, '[eventfd]'],
	[{ type: 'futex', pid: 1, address: '0x7f01', in: 'mutex+0x8' }, 'mutex+0x8'],
	[{ type: 'futex', pid: 1, address: '0x7f01', in: 'heap' }, 'heap 0x7f01'],
	[{ type: 'futex', pid: 1, address: '0x7f01', in: '' }, '0x7f01'],
	[
		{ type: 'futex', pid: 1, address: '0x1', in: 'm', owner: { tid: 8, comm: 'a\tb' } },
		'm, held by a\\x09b (8)',
	],
	[{ type: 'futex', pid: 1, address: '0x1', in: 'm', owner: { tid: 8 } }, 'm, held by thread 8'],
	[
		{ type: 'futex', pid: 1, address: '0x1', in: 'm', owner: { tid: 8, comm: '' } },
		'm, held by [no name] (8)',
	],
	// Who has it stays whole: what is cut is where it lies.
	[
		{
			type: 'futex',
			pid: 1,
			address: '0x1',
			in: 'shop::Cart::everybodys_mutex+0x18',
			owner: { tid: 812, comm: 'writer' },
		},
		'shop::Cart:…mutex+0x18, held by writer (812)',
		44,
	],
	...['stack', 'anonymous memory', '[anon:malloc]'].map(
		(memory) =>
			[{ type: 'futex', pid: 1, address: '0x7f01', in: memory }, `${memory} 0x7f01`] as const,
	),
	[{ type: 'child', pid: 10491, comm: 'tar' }, 'child tar (10491)'],
	[{ type: 'child', pid: 7, comm: 'a\u001b[m' }, 'child a\\x1b[m (7)'],
	[{ type: 'event', name: 'a\nb' }, 'a\\x0ab'],
	[
		{ type: 'unix socket', path: '', inode: 7, peer_inode: 8, other_end: [{ pid: 1, comm: '\t' }] },
		'unix socket ↔ \\x09 (1)',
	],
	// As much of a name as there is beside who has the other end.
	[
		{ type: 'pipe', end: 'read', path: '/run/user/1000/a.fifo', inode: 7, other_end: [tar] },
		'pipe read …er/1000/a.fifo ← tar (10491)',
		39,
	],
	[
		{ type: 'pipe', end: 'read', path: '/run/user/1000/a.fifo', inode: 7, other_end: [tar] },
		'pipe read …1000/a.fifo ← tar',
		28,
	],
	[{ type: 'unknown', why: 'one of 3 descriptors' }, '[one of 3 descriptors]'],
];

for (const [object, text, room] of TEXTS)
	test(`${JSON.stringify(object)} in ${room ?? 'any'} characters`, () => {
		assert.equal(objectText(object, room), text);
	});
