/** Records of what threads waited for, as programs write them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTables } from '../../../../src/abi/syscalls.js';
import type { Holder } from '../../../../src/aggregate/wait-object.js';
import {
	configureObjects,
	isOfGil,
	ObjectRecord,
	readObjects,
} from '../../../../src/bpf/objects/record.js';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import { pageSizeBytes } from '../../../../src/loader/memory.js';

const { size, fields } = layout.structs.wait_object;
const TYPE = layout.enums.object_type;
const FLAG = layout.enums.object_flag;

type NumberField =
	| ('inode' | 'peer_inode' | 'address' | 'first_ns' | 'user_sp')
	| ('other_end' | 'listener' | 'own_listener');

interface Given {
	readonly type: number;
	readonly flags?: number;
	readonly pid?: number;
	readonly holder?: number;
	readonly numbers?: Partial<Record<NumberField, number>>;
	readonly text?: string | Buffer;
	readonly protocol?: number;
	readonly inet?: readonly [
		family: number,
		local: string,
		remote: string,
		ports: readonly [number, number],
	];
}

function record({
	type,
	flags = 0,
	pid = 0,
	holder: tid = 0,
	numbers = {},
	text = '',
	inet,
	protocol = 6,
}: Given): ObjectRecord {
	const view = new DataView(new ArrayBuffer(size));
	view.setUint32(fields.type.offset, type, true);
	view.setUint32(fields.flags.offset, flags, true);
	view.setUint32(fields.pid.offset, pid, true);
	view.setUint32(fields.holder.offset, tid, true);
	for (const [name, value] of Object.entries(numbers))
		view.setBigUint64(fields[name as NumberField].offset, BigInt(value), true);
	const bytes = Buffer.from(text);
	view.setUint32(fields.text_bytes.offset, bytes.length, true);
	bytes.copy(new Uint8Array(view.buffer), fields.text.offset);
	if (inet) {
		const [family, local, remote, [localPort, remotePort]] = inet;
		view.setUint16(fields.family.offset, family, true);
		view.setUint16(fields.protocol.offset, protocol, true);
		view.setUint16(fields.local_port.offset, localPort, true);
		view.setUint16(fields.remote_port.offset, remotePort, true);
		Buffer.from(local, 'hex').copy(new Uint8Array(view.buffer), fields.local.offset);
		Buffer.from(remote, 'hex').copy(new Uint8Array(view.buffer), fields.remote.offset);
	}
	return new ObjectRecord(view);
}

const holder = (pid: number): Holder => ({ pid, comm: `p${pid}` });
/** Of pipes, 1 reads and 2 writes; of sockets, 3 has the other end of key 5, and 4 listens at key 6. */
const found = {
	holders: (key: bigint, end?: 'read' | 'write') => {
		if (end) return [holder(end === 'read' ? 1 : 2)];
		return key === 5n ? [holder(3)] : key === 6n ? [holder(4)] : [];
	},
	inMemory: 'heap',
	owner: undefined,
};
const decoded = (given: Given) => record(given).decoded(found);

test('the lock of a Python interpreter: whose it is, and who had it; a futex may be a part of it', () => {
	const made = record({ type: TYPE.OBJECT_GIL, pid: 70, holder: 9, numbers: { address: 0x5000 } });
	const gil = { pid: 70, address: 0x5000, holder: 9, isHolderOurs: false };
	assert.deepEqual(made.gil(), gil);
	const ours = record({ type: TYPE.OBJECT_GIL, flags: FLAG.OBJECT_HOLDER_OURS });
	assert.equal(ours.gil()?.isHolderOurs, true);
	assert.equal(made.place(), undefined);
	const owner = { tid: 9, comm: 'worker' };
	const shown = { type: 'futex', pid: 70, address: '0x5000', in: 'GIL', gil: true } as const;
	assert.deepEqual(made.decoded({ ...found, owner, gil }), { ...shown, owner });
	const futex = record({ type: TYPE.OBJECT_FUTEX, pid: 70, numbers: { address: 0x5028 } });
	assert.equal(futex.gil(), undefined);
	assert.deepEqual(futex.decoded({ ...found, gil }), shown);
	const { address } = futex.decoded(found) as { address?: string };
	assert.equal(address, '0x5028');
	const place = futex.place() ?? assert.fail();
	assert.ok(isOfGil(place, gil));
	assert.ok(!isOfGil({ ...place, pid: 71 }, gil));
	assert.ok(!isOfGil({ ...place, address: 0x4fff }, gil));
	assert.ok(!isOfGil({ ...place, address: 0x5000 + layout.enums.gil_constant.GIL_BYTES }, gil));
});

test('the names of a path come leaf first', () => {
	const text = 'leaf\0folder\0top\0';
	const type = TYPE.OBJECT_FILE;
	assert.deepEqual(decoded({ type, text }), { type: 'file', path: '/top/folder/leaf' });
	assert.deepEqual(decoded({ type, text, flags: FLAG.OBJECT_CUT }), {
		type: 'file',
		path: '…/top/folder/leaf',
	});
	assert.deepEqual(decoded({ type, text, flags: FLAG.OBJECT_DELETED }), {
		type: 'file',
		path: '/top/folder/leaf',
		deleted: true,
	});
	// A memfd has no name that could be taken from it.
	const flags = FLAG.OBJECT_DELETED | FLAG.OBJECT_WITHOUT_ROOT;
	assert.deepEqual(decoded({ type, text: 'memfd:x\0', flags }), { type: 'file', path: 'memfd:x' });
	assert.deepEqual(decoded({ type: TYPE.OBJECT_MAPPED, text: 'lib\0' }), {
		type: 'file',
		path: '/lib',
		mapped: true,
	});
});

test('at the other end of a pipe is who has the other end', () => {
	const flags = FLAG.OBJECT_WITHOUT_ROOT;
	const pipe = { type: TYPE.OBJECT_PIPE, numbers: { inode: 9 }, text: '\0' };
	const reads = { type: 'pipe', end: 'read', path: '', inode: 9, other_end: [holder(2)] };
	assert.deepEqual(decoded({ ...pipe, flags }), reads);
	assert.deepEqual(decoded({ ...pipe, flags: flags | FLAG.OBJECT_WRITES }), {
		...reads,
		end: 'write',
		other_end: [holder(1)],
	});
});

test('sockets: addresses and ports, each in its place, and who listens where nobody has accepted', () => {
	const type = TYPE.OBJECT_INET;
	const inet = [2, '7f000001', '7f000002', [80, 443]] as const;
	const socket = { type: 'socket', protocol: 'tcp', local: '127.0.0.1:80' };
	assert.deepEqual(decoded({ type, inet, numbers: { other_end: 5, listener: 6 } }), {
		...socket,
		remote: '127.0.0.2:443',
		other_end: [holder(3)],
	});
	assert.deepEqual(decoded({ type, inet, numbers: { other_end: 7, listener: 6 } }), {
		...socket,
		remote: '127.0.0.2:443',
		other_end: [holder(4)],
	});
	assert.deepEqual(decoded({ type, inet, flags: FLAG.OBJECT_LISTENS }), {
		...socket,
		remote: '',
		other_end: [],
	});
	const six = `${'20010db8'}${'0'.repeat(22)}01`;
	const { local } = decoded({ type, inet: [10, six, six, [1, 2]] }) as { local: string };
	assert.equal(local, '[2001:db8::1]:1');
	const mapped = `${'0'.repeat(20)}ffff0a000001`;
	const { remote } = decoded({ type, inet: [10, six, mapped, [1, 2]] }) as { remote: string };
	assert.equal(remote, '[::ffff:10.0.0.1]:2', 'an IPv4 address in an IPv6 one');
});

test('the address of a unix socket may have no path', () => {
	const path = (text: string | Buffer) =>
		(decoded({ type: TYPE.OBJECT_UNIX, text }) as { path: string }).path;
	assert.equal(path('/run/x.sock\0'), '/run/x.sock');
	assert.equal(path(Buffer.from('\0abstract')), '@abstract');
	assert.equal(path(''), '');
});

test('a futex says where it lies; what is not known says why', () => {
	assert.deepEqual(decoded({ type: TYPE.OBJECT_FUTEX, numbers: { address: 0x7f01 } }), {
		type: 'futex',
		pid: 0,
		address: '0x7f01',
		in: 'heap',
	});
	const several = { type: TYPE.OBJECT_SEVERAL, numbers: { address: 3 } };
	assert.deepEqual(decoded(several), { type: 'unknown', why: 'one of 3 descriptors' });
	assert.deepEqual(decoded({ type: 99 }).type, 'unknown');
});

test('a futex says where and when it was waited for, and whether that is in the heap', () => {
	const numbers = { address: 0x7f01, first_ns: 5_000_000, user_sp: 0x7ffd_0000 };
	const placeOf = (flags: number) =>
		record({ type: TYPE.OBJECT_FUTEX, pid: 70, flags, numbers }).place();
	const place = { pid: 70, address: 0x7f01, at_ns: 5_000_000, sp: 0x7ffd_0000 };
	assert.deepEqual(placeOf(0), { ...place, inHeap: false });
	assert.deepEqual(placeOf(FLAG.OBJECT_IN_HEAP), { ...place, inHeap: true });
});

test('sockets that somebody has accepted, and such as are not connected', () => {
	const unix = {
		...{ type: TYPE.OBJECT_UNIX, text: '/x\0', numbers: { inode: 11, peer_inode: 12 } },
	};
	const shown = { type: 'unix socket', path: '/x', inode: 11, peer_inode: 12, other_end: [] };
	assert.deepEqual(decoded(unix), shown);
	const accepted = { ...unix, flags: FLAG.OBJECT_ACCEPTED };
	assert.deepEqual(decoded(accepted), { ...shown, accepted: true });
	const type = TYPE.OBJECT_INET;
	const inet = [2, '7f000001', '7f000002', [80, 0]] as const;
	// Who listens at key 6 has accepted it.
	for (const [protocol, name] of [
		[17, 'udp'],
		[132, 'protocol 132'],
	] as const)
		assert.equal((decoded({ type, inet, protocol }) as { protocol: string }).protocol, name);
	const found = decoded({ type, inet, numbers: { own_listener: 6 } });
	assert.deepEqual(found, {
		...{ type: 'socket', protocol: 'tcp', local: '127.0.0.1:80', remote: '' },
		...{ other_end: [], accepted: true },
	});
});

test('devices, events, children, and descriptors that are no more what they were', () => {
	const text = 'null\0dev\0';
	for (const type of [TYPE.OBJECT_BLOCK, TYPE.OBJECT_CHARACTER])
		assert.deepEqual(decoded({ type, text }), { type: 'device', path: '/dev/null' });
	const flags = FLAG.OBJECT_WITHOUT_ROOT;
	const event = decoded({ type: TYPE.OBJECT_EVENT, text: 'anon_inode:[eventfd]\0', flags });
	assert.deepEqual(event, { type: 'event', name: '[eventfd]' });
	const child = decoded({ type: TYPE.OBJECT_CHILD, pid: 71, text: 'sh\0left over' });
	assert.deepEqual(child, { type: 'child', pid: 71, comm: 'sh' });
	const changed = decoded({ type: TYPE.OBJECT_CHANGED });
	assert.deepEqual(changed, { type: 'unknown', why: 'descriptor closed or used again' });
	const several = decoded({ type: TYPE.OBJECT_SEVERAL });
	assert.deepEqual(several, { type: 'unknown', why: 'one of several' });
});

test('programs are told which calls to look at and how, and have room', () => {
	const ways = new DataView(new ArrayBuffer(512));
	const told: Record<string, unknown> = {};
	const room: Record<string, number> = {};
	const object = {
		constantBytes: () => ways,
		setConstants: (more: object) => Object.assign(told, more),
		map: (name: string) => ({
			setMaxEntries: (entries: number) => {
				room[name] = entries;
			},
		}),
	} as never;
	configureObjects(object, { maxStacks: 81 });
	assert.deepEqual(told, { find_objects: true, object_page_bits: Math.log2(pageSizeBytes()) });
	assert.deepEqual(room, { wait_objects: 11, wanted_ends: 33 });
	const [native] = callTables();
	const wayOf = (name: string) =>
		ways.getUint8(Number(Object.entries(native).find(([, each]) => each === name)?.[0]));
	const WAY = layout.enums.object_way;
	for (const [name, way] of [
		['read', WAY.WAY_DESCRIPTOR],
		['syncfs', WAY.WAY_DESCRIPTOR],
		['epoll_pwait', WAY.WAY_EPOLL],
		['ppoll', WAY.WAY_POLL],
		['pselect6', WAY.WAY_SELECT],
		['futex', WAY.WAY_FUTEX],
		['wait4', WAY.WAY_CHILD],
		['waitid', WAY.WAY_CHILD_BY],
		['close', 0],
		['nanosleep', 0],
	] as const)
		assert.equal(wayOf(name), way, name);
});

test('all objects that are kept, each by its key, and none that changes later', () => {
	const made = new Uint8Array(2 * size);
	const view = new DataView(made.buffer);
	for (const [i, pid] of [70, 71].entries()) {
		view.setUint32(i * size + fields.type.offset, TYPE.OBJECT_CHILD, true);
		view.setUint32(i * size + fields.pid.offset, pid, true);
	}
	const readAll = (see: (keys: DataView, values: DataView, count: number) => void) =>
		see(new DataView(BigUint64Array.of(5n, 2n ** 63n).buffer), view, 2);
	const objects = readObjects({ map: () => ({ readAll }) } as never);
	made.fill(0);
	const pids = [...objects].map(([key, object]) => [key, object.decoded(found)]);
	assert.deepEqual(pids, [
		[5n, { type: 'child', pid: 70, comm: '' }],
		[2n ** 63n, { type: 'child', pid: 71, comm: '' }],
	]);
});
