/** What the running kernel can do, and whether this process may use it. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { TstraceError } from '../errors.js';
import { Btf } from './btf.js';
import { viewKernelFile } from './memory.js';
import { shortage } from './shortage.js';

export const BTF_PATH = '/sys/kernel/btf/vmlinux';

/** The first releases whose kernels have BTF. */
export const BTF_SINCE = 'Debian 11, Ubuntu 20.10, Fedora 31, RHEL 8.2';

let btf: Btf | undefined;

/** The kernel's own types. Throws TstraceError where the kernel was built without BTF. */
export function kernelBtf(): Btf {
	btf ??= new Btf(
		mappedBtf() ??
			readOfKernel(
				BTF_PATH,
				`this kernel has no BTF (${BTF_PATH}), and tstrace needs BTF to fit its BPF programs to the kernel: ` +
					`use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as ${BTF_SINCE} and later have`,
			),
	);
	return btf;
}

/** Throws TstraceError: what the system is short of, or `missing`. */
function readOfKernel(path: string, missing: string): Buffer {
	try {
		return readFileSync(path);
	} catch (error) {
		const short = shortage((error as NodeJS.ErrnoException).code ?? '');
		throw new TstraceError(short ? `cannot read ${path}: ${short}` : missing, String(error));
	}
}

let mapped: Uint8Array | undefined;

/**
 * BTF in the kernel's own memory, which takes a tenth of the time that a copy takes; undefined where it cannot be mapped,
 * before Linux 6.16.
 */
function mappedBtf(): Uint8Array | undefined {
	try {
		mapped ??= viewKernelFile(BTF_PATH);
		return mapped;
	} catch {
		return undefined;
	}
}

/** Gives its memory back, up to 9 MB; the next use makes it again. */
export function forgetKernelBtf(): void {
	btf = undefined;
}

/** Of what uname(2) calls the release: "6.12.14-amd64". */
export function versionOf(release: string): readonly [major: number, minor: number, patch: number] {
	const [major = 0, minor = 0, patch = 0] = (release.match(/^\d+(\.\d+)*/)?.[0] ?? '')
		.split('.')
		.map(Number);
	return [major, minor, patch];
}

/** Whether the kernel's struct has a field. */
export function kernelHasField(struct: string, field: string): boolean {
	return kernelBtf().hasField(struct, field);
}

/** Whether programs can be attached to a tracepoint by its name. */
export function kernelHasTracepoint(name: string): boolean {
	return kernelBtf().hasTypedef(`btf_trace_${name}`);
}

/** How many arguments a tracepoint hands over. */
export function tracepointArguments(name: string): number {
	// The first parameter belongs to the attached program.
	return (kernelBtf().parameterCount(`btf_trace_${name}`) ?? 1) - 1;
}

/** Whether the kernel has a helper function for BPF programs: "task_pt_regs". */
export function kernelHasHelper(name: string): boolean {
	return kernelBtf().enumValues('bpf_func_id')?.[`BPF_FUNC_${name}`] !== undefined;
}

/** Which of these functions the kernel has: compilers add to names, "finish_task_switch.isra.0". */
export function kernelFunctions(names: readonly string[]): string[] {
	const symbols = readFileSync('/proc/kallsyms', 'latin1');
	return names.filter(
		(name) => symbols.includes(` t ${name}\n`) || symbols.includes(` T ${name}\n`),
	);
}

/** Whether probes can be put into kernel functions: CONFIG_KPROBE_EVENTS. */
export function kernelHasKprobes(): boolean {
	return existsSync('/sys/bus/event_source/devices/kprobe');
}

/** include/uapi/linux/capability.h */
const CAPABILITIES = {
	CAP_IPC_LOCK: 14,
	CAP_SYS_PTRACE: 19,
	CAP_SYS_ADMIN: 21,
	CAP_SYSLOG: 34,
	CAP_PERFMON: 38,
	CAP_BPF: 39,
} as const;

export type Capability = keyof typeof CAPABILITIES;

function readOwnStatus(): string {
	return readOfKernel(
		'/proc/self/status',
		'cannot read /proc/self/status: /proc is not mounted; mount -t proc proc /proc',
	).toString();
}

/** The capabilities that are in effect for this process, of those that tracing has to do with. */
export function ownCapabilities(): Set<Capability> {
	const status = readOwnStatus();
	const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
	const names = Object.keys(CAPABILITIES) as Capability[];
	return new Set(names.filter((name) => (effective >> BigInt(CAPABILITIES[name])) & 1n));
}

/** Which of the capabilities that loading tracing programs takes are not among these. */
export function lackingForBpf(has: ReadonlySet<Capability>): Capability[] {
	if (has.has('CAP_SYS_ADMIN')) return [];
	return (['CAP_BPF', 'CAP_PERFMON'] as const).filter((name) => !has.has(name));
}

/** Whether this process may load tracing programs, as far as capabilities go. */
export function bpfAllowed(): boolean {
	return lackingForBpf(ownCapabilities()).length === 0;
}

/** Throws TstraceError when this process may not load tracing programs. */
export function requireBpfPrivileges(): void {
	const missing = lackingForBpf(ownCapabilities());
	if (missing.length === 0) return;
	throw new TstraceError(
		`tracing needs ${missing.join(' and ')}: run tstrace as root (sudo tstrace …); in a container, ` +
			'add these capabilities to it',
	);
}

/** PROC_PID_INIT_INO, include/linux/proc_ns.h: the first PID namespace. */
const FIRST_PIDNS_INODE = 0xeffffffc;

/** The inode of this process's PID namespace; 0 when it is the first, where numbers are global. */
export function ownPidNamespace(): number {
	const inode = statSync('/proc/self/ns/pid').ino;
	return inode === FIRST_PIDNS_INODE ? 0 : inode;
}
