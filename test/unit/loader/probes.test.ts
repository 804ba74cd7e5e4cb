/** Probes in processes: what the kernel is asked for, by either way, and what is said where it refuses. */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { bpf_uprobe_opts, link_create_uprobe_multi, uapi } from '../../../src/generated/uapi.js';
import { libbpf, libc } from '../../../src/loader/ffi.js';
import { viewMemory } from '../../../src/loader/memory.js';
import { UserProbes } from '../../../src/loader/probes.js';
import { fails, replace } from './replaced.js';

const MULTI = 48;
const PATH = '/usr/lib/libc.so.6';
const POINTS = [
	{ offset: 0x1230, cookie: 2n ** 63n + 5n },
	{ offset: 0x4560, cookie: 7n },
];
const request = { program: { pointer: 8n, fd: 44 } as never, path: PATH, pid: 70, points: POINTS };

/** Each probe by itself: what libbpf is asked for, and the links that have ended. */
function single(t: TestContext) {
	const asked: unknown[] = [];
	const ended: unknown[] = [];
	let next = 100n;
	replace(t, libbpf(), {
		bpf_program__attach_uprobe_opts: (program, pid, path, offset, options) => {
			const view = new DataView(options.buffer, options.byteOffset, options.length);
			const { sz, bpf_cookie, retprobe } = bpf_uprobe_opts.fields;
			assert.equal(view.getBigUint64(sz.offset, true), BigInt(bpf_uprobe_opts.size));
			const cookie = view.getBigUint64(bpf_cookie.offset, true);
			asked.push([program, pid, path, offset, cookie, view.getUint8(retprobe.offset)]);
			return next++;
		},
		bpf_link__destroy: (link) => ended.push(link),
	});
	return { asked, ended };
}

test('one by one: each at its place, with its cookie; the last that was attached goes first', (t) => {
	const { asked, ended } = single(t);
	const probes = new UserProbes(undefined);
	probes.attach({ ...request, returns: false });
	probes.attach({ ...request, returns: true, points: POINTS.slice(1) });
	assert.deepEqual(asked, [
		[8n, 70, PATH, 0x1230, 2n ** 63n + 5n, 0],
		[8n, 70, PATH, 0x4560, 7n, 0],
		[8n, 70, PATH, 0x4560, 7n, 1],
	]);
	probes.close();
	probes.close();
	assert.deepEqual(ended, [102n, 101n, 100n]);
});

test('many at once: one link of all places of a file, each with its cookie', (t) => {
	const fds: number[] = [];
	const { fields, size } = link_create_uprobe_multi;
	const asked: unknown[] = [];
	replace(t, libc(), {
		bpf: (_number, command, bytes, length) => {
			assert.deepEqual([command, length], [uapi.CMD_LINK_CREATE, size]);
			const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
			const u32 = ({ offset }: { offset: number }) => view.getUint32(offset, true);
			const at = ({ offset }: { offset: number }, length: number) =>
				viewMemory(view.getBigUint64(offset, true), length);
			const path = Buffer.from(at(fields.path, PATH.length + 1)).toString();
			const words = [fields.offsets, fields.cookies].map((field) => [
				...new BigUint64Array(at(field, 8 * u32(fields.cnt))),
			]);
			const { prog_fd, attach_type, cnt, multi_flags, pid } = fields;
			asked.push([path, ...words, ...[prog_fd, attach_type, cnt, multi_flags, pid].map(u32)]);
			fds.push(openSync('/dev/null', 'r'));
			return fds.at(-1) ?? -1;
		},
	});
	const probes = new UserProbes(MULTI);
	probes.attach({ ...request, returns: false });
	probes.attach({ ...request, returns: true, points: POINTS.slice(0, 1) });
	probes.attach({ ...request, returns: false, points: [] });
	const cookies = POINTS.map(({ cookie }) => cookie);
	assert.deepEqual(asked, [
		[`${PATH}\0`, [0x1230n, 0x4560n], cookies, 44, MULTI, 2, 0, 70],
		[`${PATH}\0`, [0x1230n], cookies.slice(0, 1), 44, MULTI, 1, uapi.UPROBE_MULTI_RETURN, 70],
	]);
	probes.close();
	for (const fd of fds) assert.throws(() => closeSync(fd), /EBADF/);
	probes.close();
});

test('where the kernel refuses, it is said of which file and process, and why', (t) => {
	const said = (errno: string, pid: number, multi?: number) => {
		const refuses = () => fails(errno);
		replace(t, libc(), { bpf: refuses });
		replace(t, libbpf(), {
			bpf_program__attach_uprobe_opts: () => {
				refuses();
				return null;
			},
		});
		try {
			new UserProbes(multi).attach({ ...request, pid, returns: false });
		} catch (error) {
			return (error as Error).message;
		}
		return assert.fail('it was attached');
	};
	const nobody = 4_194_305;
	for (const multi of [undefined, MULTI]) {
		const begin = (pid: number) => `cannot put probes into ${PATH} of process ${pid}: `;
		const own = begin(process.pid);
		assert.equal(said('ESRCH', process.pid, multi), `${own}it has ended`);
		assert.equal(said('ENOENT', nobody, multi), `${begin(nobody)}it has ended`);
		assert.equal(said('ENOENT', process.pid, multi), `${own}ENOENT`);
		for (const errno of ['EPERM', 'EACCES'])
			assert.equal(said(errno, process.pid, multi), `${own}not allowed; run tstrace as root`);
		assert.match(said('EMFILE', process.pid, multi), /: too many open files; raise the limit/);
		assert.equal(said('EINVAL', process.pid, multi), `${own}EINVAL`);
	}
});
