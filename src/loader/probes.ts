/**
 * User probes: programs that run where a process executes an instruction of a file. Sources: man 2
 * bpf, man 2 perf_event_open (uprobe); kernel/events/uprobes.c; libbpf.h, struct bpf_uprobe_opts.
 */
import { closeSync, existsSync } from 'node:fs';
import { TstraceError } from '../errors.js';
import { bpf_uprobe_opts, link_create_uprobe_multi, uapi } from '../generated/uapi.js';
import { failure, libbpf, libc, type Pointer } from './ffi.js';
import { kernelBtf, kernelHasHelper } from './kernel.js';
import { takeMessages } from './libbpf-messages.js';
import { PointingStruct } from './pointing-struct.js';
import type { BpfProgram } from './program.js';
import { shortage } from './shortage.js';

/** arch/x86/entry/syscalls/syscall_64.tbl; scripts/syscall.tbl for arm64. */
export const BPF_SYSCALL_NUMBER = process.arch === 'arm64' ? 280 : 321;

/** Where in a file, and what the program is to be told. */
export interface ProbePoint {
	/** Of the instruction, in the file. */
	readonly offset: number;
	/** What bpf_get_attach_cookie returns there. */
	readonly cookie: bigint;
}

/** Probes of one kind, in one file, as one process executes it. */
interface ProbeRequest {
	readonly program: BpfProgram;
	/** The program runs when the function returns that begins there. */
	readonly returns: boolean;
	/** As this process sees it. */
	readonly path: string;
	readonly pid: number;
	readonly points: readonly ProbePoint[];
}

/**
 * The attach type of programs for links of many probes; undefined where the kernel has none that
 * can be trusted. They came with 6.6, but took a process's first thread for the process; sessions
 * (6.13) came after that was mended.
 */
export function multiProbeType(): number | undefined {
	const types = kernelBtf().enumValues('bpf_attach_type');
	return types?.BPF_TRACE_UPROBE_SESSION === undefined ? undefined : types.BPF_TRACE_UPROBE_MULTI;
}

/** Whether probes hand over a cookie of their own to programs (5.15). */
export function kernelHasCookies(): boolean {
	return kernelHasHelper('get_attach_cookie');
}

/** Probes that are attached; they stay until `close`, or until this process ends in any way. */
export class UserProbes {
	#links: Pointer[] = [];
	#fds: number[] = [];
	readonly #multiType: number | undefined;

	/** `multiType`: what the programs were loaded as; see multiProbeType. */
	constructor(multiType: number | undefined) {
		this.#multiType = multiType;
	}

	/** Throws TstraceError. */
	attach(request: ProbeRequest): void {
		if (this.#multiType === undefined) {
			for (const point of request.points) this.#attachOne(request, point);
		} else if (request.points.length > 0) {
			this.#attachMany(request, this.#multiType);
		}
	}

	/** Those attached last go first. */
	close(): void {
		for (const link of this.#links.reverse()) libbpf().bpf_link__destroy(link);
		for (const fd of this.#fds.reverse()) closeSync(fd);
		this.#links = [];
		this.#fds = [];
	}

	#attachOne({ program, returns, path, pid }: ProbeRequest, { offset, cookie }: ProbePoint): void {
		const link = libbpf().bpf_program__attach_uprobe_opts(
			program.pointer,
			pid,
			path,
			offset,
			uprobeOptions(cookie, returns),
		);
		if (link === null) throw failed(path, pid, failure(), takeMessages());
		this.#links.push(link);
	}

	#attachMany({ program, returns, path, pid, points }: ProbeRequest, type: number): void {
		const { fields, size } = link_create_uprobe_multi;
		const offsets = BigUint64Array.from(points, ({ offset }) => BigInt(offset));
		const cookies = BigUint64Array.from(points, ({ cookie }) => cookie);
		const link = new PointingStruct(size);
		const { view } = link;
		view.setUint32(fields.prog_fd.offset, program.fd, true);
		view.setUint32(fields.attach_type.offset, type, true);
		link.point(fields.path.offset, Buffer.from(`${path}\0`));
		link.point(fields.offsets.offset, offsets);
		link.point(fields.cookies.offset, cookies);
		view.setUint32(fields.cnt.offset, points.length, true);
		view.setUint32(fields.multi_flags.offset, returns ? uapi.UPROBE_MULTI_RETURN : 0, true);
		view.setUint32(fields.pid.offset, pid, true);
		const fd = link.give((bytes) =>
			libc().bpf(BPF_SYSCALL_NUMBER, uapi.CMD_LINK_CREATE, bytes, bytes.length),
		);
		if (fd < 0) throw failed(path, pid, failure(), undefined);
		this.#fds.push(fd);
	}
}

function failed(path: string, pid: number, errno: string, detail: string | undefined) {
	const ended = errno === 'ESRCH' || (errno === 'ENOENT' && !existsSync(`/proc/${pid}`));
	const why = ended
		? 'it has ended'
		: errno === 'EPERM' || errno === 'EACCES'
			? 'not allowed; run tstrace as root'
			: (shortage(errno) ?? errno);
	return new TstraceError(`cannot put probes into ${path} of process ${pid}: ${why}`, detail);
}

function uprobeOptions(cookie: bigint, returns: boolean): Uint8Array {
	const { fields, size } = bpf_uprobe_opts;
	const options = new DataView(new ArrayBuffer(size));
	options.setBigUint64(fields.sz.offset, BigInt(size), true);
	options.setBigUint64(fields.bpf_cookie.offset, cookie, true);
	options.setUint8(fields.retprobe.offset, returns ? 1 : 0);
	return new Uint8Array(options.buffer);
}
