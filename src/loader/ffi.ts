/**
 * The C functions tstrace calls, each written once, as its C prototype.
 * Sources: libbpf's `libbpf.h`, `bpf.h`, `btf.h` (1.0); man pages of the system calls.
 */
import { errnoName } from '../abi/errno.js';
import { TstraceError } from '../errors.js';
import { koffi } from './koffi.js';

/** An address in this process; null is C's NULL. */
export type Pointer = bigint | null;

/** By the names that distributions have in os-release (ID, ID_LIKE). */
export const INSTALL_LIBBPF_ON = {
	debian: 'apt-get install libbpf1',
	ubuntu: 'apt-get install libbpf1',
	fedora: 'dnf install libbpf',
	rhel: 'dnf install libbpf',
	arch: 'pacman -S libbpf',
	alpine: 'apk add libbpf',
	suse: 'zypper install libbpf1',
	opensuse: 'zypper install libbpf1',
} as const;
const { debian, fedora, arch, alpine } = INSTALL_LIBBPF_ON;
const INSTALL_LIBBPF = `install it: ${debian} (Debian, Ubuntu), ${fedora} (Fedora), ${arch} (Arch), ${alpine} (Alpine)`;

type Library = ReturnType<ReturnType<typeof koffi>['load']>;

function tryLoad(path: string): Library | string {
	const { load } = koffi();
	try {
		return load(path);
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

/** The system's libbpf, 1.0 or newer; TSTRACE_LIBBPF names another file. */
function loadLibbpf(): Library {
	const path = process.env.TSTRACE_LIBBPF ?? 'libbpf.so.1';
	const library = tryLoad(path);
	if (typeof library !== 'string') return library;
	if (typeof tryLoad('libbpf.so.0') !== 'string') {
		throw new TstraceError(
			`libbpf is too old: tstrace needs ${path} (1.0 or newer), and found only libbpf.so.0; ${INSTALL_LIBBPF}`,
			library,
		);
	}
	throw new TstraceError(`libbpf is missing: cannot load ${path}; ${INSTALL_LIBBPF}`, library);
}

/** Undefined: the library has no such function. */
function optional<T>(declare: () => T): T | undefined {
	try {
		return declare();
	} catch {
		return undefined;
	}
}

function declareLibc() {
	const library = koffi().load(null);
	return {
		mmap: library.func(
			'void *mmap(void *addr, size_t length, int prot, int flags, int fd, int64_t offset)',
		) as (
			addr: Pointer,
			length: number,
			prot: number,
			flags: number,
			fd: number,
			offset: number,
		) => Pointer,
		munmap: library.func('int munmap(void *addr, size_t length)') as (
			addr: Pointer,
			length: number,
		) => number,
		// Not of libraries of C before glibc 2.27.
		memfd_create: optional(() =>
			library.func('int memfd_create(const char *name, unsigned int flags)'),
		) as ((name: string, flags: number) => number) | undefined,
		sysconf: library.func('long sysconf(int name)') as (name: number) => number,
		// glibc has no function for it; of syscall's arguments these are the ones it takes.
		perf_event_open: library.func(
			'long syscall(long number, const void *attr, long pid, long cpu, long group_fd, ' +
				'unsigned long flags)',
		) as (
			number: number,
			attr: Uint8Array,
			pid: number,
			cpu: number,
			groupFd: number,
			flags: number,
		) => number,
		fcntl: library.func('int fcntl(int fd, int command, int argument)') as (
			fd: number,
			command: number,
			argument: number,
		) => number,
		// glibc has no function for this one either.
		bpf: library.func(
			'long syscall(long number, long command, const void *attr, unsigned long size)',
		) as (number: number, command: number, attr: Uint8Array, size: number) => number,
		ioctl: library.func('int ioctl(int fd, unsigned long request, unsigned long argument)') as (
			fd: number,
			request: number,
			argument: number,
		) => number,
		// musl has none, and needs none: it gives back what was freed.
		mallopt: optional(() => library.func('int mallopt(int param, int value)')) as
			| ((param: number, value: number) => number)
			| undefined,
		getrusage: library.func('int getrusage(int who, void *usage)') as (
			who: number,
			usage: Uint8Array,
		) => number,
		_exit: library.func('void _exit(int status)') as (status: number) => void,
		vasprintf: library.func(
			'int vasprintf(_Out_ void **text, const char *format, void *arguments)',
		) as (text: [Pointer], format: Pointer, args: Pointer) => number,
	};
}

let declaredLibc: ReturnType<typeof declareLibc> | undefined;

/** The C library's functions. Throws TstraceError where koffi cannot be loaded. */
export function libc(): ReturnType<typeof declareLibc> {
	declaredLibc ??= declareLibc();
	return declaredLibc;
}

/**
 * Ends this process, with its exit handlers but without node's own clean-up. That clean-up can wait for
 * ever: it waits for threads that compile, and these for a garbage collection by the main thread
 * (nodejs/node#54918). Where nothing of C was called yet, or node is to write a profile at its end, it does
 * nothing: node goes its own way.
 */
export function exitAtOnce(status: number): void {
	const { NODE_OPTIONS = '', NODE_V8_COVERAGE } = process.env;
	const writesAtEnd = /--(cpu|heap)-prof/.test([NODE_OPTIONS, ...process.execArgv].join(' '));
	if (!declaredLibc || writesAtEnd || NODE_V8_COVERAGE !== undefined) return;
	process.emit('exit', status);
	declaredLibc._exit(status);
}

type BatchFunction = (
	fd: number,
	inBatch: Uint8Array | null,
	outBatch: Uint8Array,
	keys: Uint8Array,
	values: Uint8Array,
	count: [number],
	opts: Pointer,
) => number;

/** `int print(enum libbpf_print_level level, const char *format, va_list arguments)`. */
const PRINT_PROTOTYPE = 'int LibbpfPrint(int level, const void *format, void *arguments)';

type Type = ReturnType<ReturnType<typeof koffi>['pointer']>;

let declaredPrint: Type | undefined;

/** The type of what libbpf_set_print takes; koffi lets a prototype be declared once. */
export function printFunction(): Type {
	declaredPrint ??= koffi().pointer(koffi().proto(PRINT_PROTOTYPE));
	return declaredPrint;
}

let library: Library | undefined;

/** A function of libbpf by its prototype; tests and scripts need some beside `libbpf()`. Throws TstraceError. */
export function libbpfFunction(prototype: string): ReturnType<Library['func']> {
	library ??= loadLibbpf();
	try {
		return library.func(prototype);
	} catch (error) {
		throw new TstraceError(
			`libbpf is too old: 1.0 or newer is needed; ${INSTALL_LIBBPF}`,
			String(error),
		);
	}
}

function declare() {
	library ??= loadLibbpf();
	printFunction();
	const c = libbpfFunction;
	const update = c(
		'int bpf_map_update_elem(int fd, const void *key, const void *value, uint64_t flags)',
	);
	return {
		libbpf_set_print: c('void *libbpf_set_print(LibbpfPrint *print)') as (
			print: Pointer,
		) => Pointer,
		libbpf_version_string: c('const char *libbpf_version_string()') as () => string,
		libbpf_num_possible_cpus: c('int libbpf_num_possible_cpus()') as () => number,

		bpf_object__open_file: c('void *bpf_object__open_file(const char *path, const void *opts)') as (
			path: string,
			opts: Uint8Array | null,
		) => Pointer,
		bpf_object__load: c('int bpf_object__load(void *object)') as (object: Pointer) => number,
		bpf_object__close: c('void bpf_object__close(void *object)') as (object: Pointer) => void,

		bpf_object__next_program: c(
			'void *bpf_object__next_program(const void *object, void *program)',
		) as (object: Pointer, program: Pointer) => Pointer,
		bpf_program__name: c('const char *bpf_program__name(const void *program)') as (
			program: Pointer,
		) => string,
		bpf_program__set_autoload: c('int bpf_program__set_autoload(void *program, bool autoload)') as (
			program: Pointer,
			autoload: boolean,
		) => number,
		bpf_program__fd: c('int bpf_program__fd(const void *program)') as (program: Pointer) => number,
		bpf_program__attach: c('void *bpf_program__attach(const void *program)') as (
			program: Pointer,
		) => Pointer,
		bpf_program__attach_uprobe_opts: c(
			'void *bpf_program__attach_uprobe_opts(const void *program, int pid, const char *path, ' +
				'size_t offset, const void *opts)',
		) as (program: Pointer, pid: number, path: string, offset: number, opts: Uint8Array) => Pointer,
		bpf_program__set_expected_attach_type: c(
			'int bpf_program__set_expected_attach_type(void *program, int type)',
		) as (program: Pointer, type: number) => number,
		bpf_program__attach_iter: c(
			'void *bpf_program__attach_iter(const void *program, const void *opts)',
		) as (program: Pointer, opts: Pointer) => Pointer,
		bpf_link__fd: c('int bpf_link__fd(const void *link)') as (link: Pointer) => number,
		bpf_link__destroy: c('int bpf_link__destroy(void *link)') as (link: Pointer) => number,
		bpf_iter_create: c('int bpf_iter_create(int link_fd)') as (linkFd: number) => number,

		bpf_object__next_map: c('void *bpf_object__next_map(const void *object, void *map)') as (
			object: Pointer,
			map: Pointer,
		) => Pointer,
		bpf_map__name: c('const char *bpf_map__name(const void *map)') as (map: Pointer) => string,
		bpf_map__fd: c('int bpf_map__fd(const void *map)') as (map: Pointer) => number,
		bpf_map__key_size: c('uint32_t bpf_map__key_size(const void *map)') as (map: Pointer) => number,
		bpf_map__value_size: c('uint32_t bpf_map__value_size(const void *map)') as (
			map: Pointer,
		) => number,
		bpf_map__max_entries: c('uint32_t bpf_map__max_entries(const void *map)') as (
			map: Pointer,
		) => number,
		bpf_map__set_max_entries: c('int bpf_map__set_max_entries(void *map, uint32_t n)') as (
			map: Pointer,
			n: number,
		) => number,
		bpf_map__map_flags: c('uint32_t bpf_map__map_flags(const void *map)') as (
			map: Pointer,
		) => number,
		bpf_map__set_map_flags: c('int bpf_map__set_map_flags(void *map, uint32_t flags)') as (
			map: Pointer,
			flags: number,
		) => number,
		bpf_map__set_autocreate: c('int bpf_map__set_autocreate(void *map, bool create)') as (
			map: Pointer,
			create: boolean,
		) => number,
		bpf_map__initial_value: c('void *bpf_map__initial_value(void *map, _Out_ size_t *size)') as (
			map: Pointer,
			size: [number],
		) => Pointer,

		bpf_map_lookup_elem: c('int bpf_map_lookup_elem(int fd, const void *key, void *value)') as (
			fd: number,
			key: Uint8Array,
			value: Uint8Array,
		) => number,
		bpf_map_update_elem: update as (
			fd: number,
			key: Uint8Array | null,
			value: Uint8Array,
			flags: number,
		) => number,
		/** The same in another thread, which may begin later; `done` holds what it is given until then. */
		bpf_map_update_elem_aside: update.async as (
			fd: number,
			key: Uint8Array,
			value: Uint8Array,
			flags: number,
			done: () => void,
		) => void,
		bpf_map_delete_elem: c('int bpf_map_delete_elem(int fd, const void *key)') as (
			fd: number,
			key: Uint8Array,
		) => number,
		bpf_map_get_next_key: c('int bpf_map_get_next_key(int fd, const void *key, void *next)') as (
			fd: number,
			key: Uint8Array | null,
			next: Uint8Array,
		) => number,
		bpf_map_lookup_batch: c(
			'int bpf_map_lookup_batch(int fd, void *in_batch, void *out_batch, void *keys, ' +
				'void *values, _Inout_ uint32_t *count, const void *opts)',
		) as BatchFunction,
		bpf_map_lookup_and_delete_batch: c(
			'int bpf_map_lookup_and_delete_batch(int fd, void *in_batch, void *out_batch, ' +
				'void *keys, void *values, _Inout_ uint32_t *count, const void *opts)',
		) as BatchFunction,
		bpf_obj_get_info_by_fd: c(
			'int bpf_obj_get_info_by_fd(int fd, void *info, _Inout_ uint32_t *length)',
		) as (fd: number, info: Uint8Array, length: [number]) => number,
		bpf_enable_stats: c('int bpf_enable_stats(int type)') as (type: number) => number,
	};
}

let declared: ReturnType<typeof declare> | undefined;

/** libbpf's functions; loads the library at the first call. Throws TstraceError when it cannot. */
export function libbpf(): ReturnType<typeof declare> {
	declared ??= declare();
	return declared;
}

/** Why a call failed: by what it returned (-errno), or by errno where it returned only that it failed. */
export function failure(result = koffi().errno()): string {
	return errnoName(Math.abs(result));
}
