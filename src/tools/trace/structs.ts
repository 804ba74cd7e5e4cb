/** Which fields of a structure are shown, and how; where they are the kernel's own types say. */
import type { Btf } from '../../loader/btf.js';

/** How a field is shown. */
export type FieldForm =
	| 'decimal'
	| 'hex'
	| 'octal'
	| 'mode'
	| 'limit'
	| 'epoll'
	| 'poll'
	| 'clone'
	| 'sa'
	| 'lock'
	| 'whence'
	| 'descriptor'
	| 'status'
	| 'signal'
	| 'sigset'
	| 'handler';

export interface ShownField {
	/** "tv_sec", "it_value.tv_sec"; '': the structure is one number. */
	readonly name: string;
	readonly offset: number;
	/** 1, 2, 4 or 8. */
	readonly bytes: number;
	readonly form: FieldForm;
}

export interface ShownStruct {
	readonly bytes: number;
	readonly fields: readonly ShownField[];
}

/** By the name in signatures: the kernel's name, and fields with "/x", "/o" for how; none: all that are numbers. */
const STRUCTS: Readonly<Record<string, readonly [type: string, fields: string]>> = {
	timespec: ['__kernel_timespec', 'tv_sec tv_nsec'],
	timeval: ['__kernel_old_timeval', 'tv_sec tv_usec'],
	itimerspec: [
		'__kernel_itimerspec',
		'it_interval.tv_sec it_interval.tv_nsec it_value.tv_sec it_value.tv_nsec',
	],
	itimerval: [
		'__kernel_old_itimerval',
		'it_interval.tv_sec it_interval.tv_usec it_value.tv_sec it_value.tv_usec',
	],
	stat: ['stat', 'st_mode/mode st_size'],
	statx: ['statx', 'stx_mode/mode stx_size'],
	statfs: ['statfs', 'f_type/hex f_bsize f_blocks f_bfree f_bavail'],
	rlimit: ['rlimit64', 'rlim_cur/limit rlim_max/limit'],
	rusage: [
		'rusage',
		'ru_utime.tv_sec ru_utime.tv_usec ru_stime.tv_sec ru_stime.tv_usec ru_maxrss ru_minflt ru_majflt',
	],
	sysinfo: ['sysinfo', 'uptime totalram freeram procs mem_unit'],
	sched_param: ['sched_param', 'sched_priority'],
	open_how: ['open_how', 'flags/hex mode/octal resolve/hex'],
	clone_args: [
		'clone_args',
		'flags/clone child_tid/hex parent_tid/hex exit_signal/signal stack/hex stack_size/hex tls/hex',
	],
	sigaction: ['sigaction', 'sa_handler/handler sa_mask/sigset sa_flags/sa'],
	flock: ['flock', 'l_type/lock l_whence/whence l_start l_len'],
	epoll_event: ['epoll_event', 'events/epoll data/hex'],
	pollfd: ['pollfd', 'fd events/poll revents/poll'],
};

/** Not structures to the kernel. */
const NUMBERS: Readonly<Record<string, ShownStruct>> = {
	fd: { bytes: 4, fields: [{ name: '', offset: 0, bytes: 4, form: 'descriptor' }] },
	status: { bytes: 4, fields: [{ name: '', offset: 0, bytes: 4, form: 'status' }] },
	int: { bytes: 4, fields: [{ name: '', offset: 0, bytes: 4, form: 'decimal' }] },
	off: { bytes: 8, fields: [{ name: '', offset: 0, bytes: 8, form: 'decimal' }] },
};

const SHOWN_BYTES = [1, 2, 4, 8];
/** More would be a line of its own. */
const MOST_FIELDS = 12;

/** A structure of the signatures, or of the kernel's formats by its own name; undefined: its type is not known. */
export function structOf(btf: Btf, name: string): ShownStruct | undefined {
	const number = Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined;
	if (number) return number;
	const known = Object.hasOwn(STRUCTS, name) ? STRUCTS[name] : undefined;
	const type = btf.struct(known?.[0] ?? name);
	if (!type || type.size_bytes === 0) return undefined;
	const fields = known ? known[1].split(' ').map((word) => fieldOf(btf, known[0], word)) : [];
	if (known)
		return fields.includes(undefined)
			? undefined
			: { bytes: type.size_bytes, fields: fields.filter((field) => field !== undefined) };
	const all = type.fields
		.filter(
			({ name, size_bytes, bit }) =>
				bit === undefined && SHOWN_BYTES.includes(size_bytes) && !/^_|pad|reserved/.test(name),
		)
		.slice(0, MOST_FIELDS)
		.map(({ name, offset_bytes, size_bytes }) => ({
			name,
			offset: offset_bytes,
			bytes: size_bytes,
			form: 'decimal' as const,
		}));
	return all.length > 0 ? { bytes: type.size_bytes, fields: all } : undefined;
}

/** "it_value.tv_sec", "st_mode/octal". */
function fieldOf(btf: Btf, type: string, word: string): ShownField | undefined {
	const [path = '', form = 'decimal'] = word.split('/');
	let offset = 0;
	let bytes = 0;
	let holder = type;
	for (const name of path.split('.')) {
		const field = btf.struct(holder)?.fields.find((each) => each.name === name);
		if (!field) return undefined;
		offset += field.offset_bytes;
		bytes = field.size_bytes;
		holder = btf.fieldType(holder, name) ?? '';
	}
	return SHOWN_BYTES.includes(bytes)
		? { name: path, offset, bytes, form: form as FieldForm }
		: undefined;
}
