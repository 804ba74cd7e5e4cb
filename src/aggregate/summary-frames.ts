/**
 * Which functions of a stack say what it is about: in one line there is room for two. Tables of names,
 * with reasons. Pure values: no I/O, no kernel.
 */
import { isApplication } from './application-frames.js';
import { remembered } from './remembered.js';
import type { Frame } from './stack.js';

/** Names of functions repeat: of each it is asked once. The kernel has some 100,000. */
export const MOST_NAMES = 1 << 15;

/**
 * Functions of the kernel that say only that a thread waits, or that it came from user space; what called
 * them says for what. Compilers put their own parts behind a dot.
 */
const UNTELLING: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
	[/^_*(cond_resched|schedule|io_schedule|preempt_schedule)(_|$)/, 'the scheduler'],
	[/^_*(wait_for_completion|wait_for_common|do_wait_for_common)(_|$)/, 'a wait for anything'],
	[/^_*(wait_on_bit|out_of_line_wait_on_bit|bit_wait)(_|$)|^wait_on_bit/, 'a wait for a flag'],
	[/^(wait_woken|prepare_to_wait|finish_wait|woken_wake_function)/, 'a wait queue'],
	[/^(sk_wait_data|sk_stream_wait_memory|__skb_wait_for_more_packets)$/, 'any socket'],
	[/^(__skb_recv_\w+|skb_recv_datagram)$/, 'any socket: udp_recvmsg and its kin say which'],
	[/^unix_stream_(data_wait|read_generic)$/, 'parts of unix_stream_recvmsg'],
	[/^tcp_(recvmsg|sendmsg)_locked$/, 'parts of tcp_recvmsg, tcp_sendmsg'],
	[/^(__futex_wait|futex_(do_wait|wait_queue|wait_queue_me))$/, 'parts of futex_wait'],
	[/^poll_schedule_timeout$/, 'part of do_poll, do_select'],
	[/^(folio|page)_(wait_bit|lock|wait_locked)\w*$|^__folio_lock\w*$/, 'a wait for any page'],
	[/^filemap_(get_pages|update_page|read_folio)$/, 'parts of filemap_read'],
	[/^submit_bio_wait$|^blk_(wait_io|mq_wait\w*)$/, 'a disk, for anything'],
	[/^(try_to_take_)?rt_mutex_(schedule|slowlock\w*)$|^__rt_mutex\w*$/, 'parts of rt_mutex_lock'],
	[/^r?w?sem_(down|wait)\w*_slowpath$|^rwsem_\w+_slowpath$/, 'parts of down_read, down_write'],
	[/^__mutex_lock\w*$/, 'parts of mutex_lock'],
	[/^(hrtimer_nanosleep|common_nsleep)\w*$/, 'callers of do_nanosleep'],
	[
		/^(do_syscall_64|do_int80\w*|x64_sys_call|entry_SYSCALL_\w+|entry_\w+|asm_\w+|el0\w*|invoke_syscall|do_el0_svc|ret_from_fork\w*|kthread|\w*exit_to_user_mode\w*)$/,
		'every way into the kernel',
	],
];

/** Waits for work or for time, in which nobody but the thread itself is late. */
const IDLE_WAITS: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
	[/^(ep_poll|do_epoll_wait)$/, 'an event loop: any number of events could end it'],
	[/^(do_nanosleep|hrtimer_nanosleep)$/, 'a sleep'],
	[/^(do_sigtimedwait|sigsuspend|__do_sys_pause|__x64_sys_pause|__arm64_sys_pause)$/, 'signals'],
	[/^(inet_csk_accept|unix_accept)$/, 'connections that nobody has made'],
];

/** What brings a thread into the kernel, as everybody calls it; "$1" is a system call. */
const ENTRIES: ReadonlyArray<readonly [pattern: RegExp, name: string]> = [
	[/^__(?:x64|ia32|arm64)_(?:compat_)?sys_(\w+)$/, '$1'],
	[/^(asm_)?exc_page_fault$|^el[01]_([di]a|abort)$|^do_(mem_abort|page_fault)$/, 'page fault'],
	[/^(asm_)?(sysvec_\w+|common_interrupt)$|^el[01]t?_64_irq\w*$|^el[01]_interrupt$/, 'interrupt'],
];

/**
 * Functions of databases and runtimes that only wait or allocate; their callers say what for. Exact names,
 * as demangled; arguments may follow.
 */
const WRAPPERS: ReadonlyMap<string, string> = new Map(
	(
		[
			[
				['WaitLatch', 'WaitLatchOrSocket', 'WaitEventSetWait', 'WaitEventSetWaitBlock'],
				"PostgreSQL's latch.c, waiteventset.c: every wait of a session",
			],
			[
				['ProcSleep', 'WaitOnLock', 'LockAcquireExtended', 'LockAcquire'],
				"PostgreSQL's proc.c, lock.c: any heavyweight lock; XactLockTableWait and its kin say which",
			],
			[
				['LWLockAcquire', 'LWLockAcquireOrWait', 'LWLockWaitForVar', 'PGSemaphoreLock'],
				"PostgreSQL's lwlock.c, posix_sema.c: any lightweight lock",
			],
			[
				[
					'node::NodeArrayBufferAllocator::Allocate',
					'node::NodeArrayBufferAllocator::AllocateUninitialized',
					'node::NodeArrayBufferAllocator::Reallocate',
					'node::Buffer::New',
				],
				'Node.js, api/environment.cc, node_buffer.cc: the memory of any buffer',
			],
			[
				[
					'v8::internal::BackingStore::Allocate',
					'v8::internal::Heap::AllocateExternalBackingStore',
					'v8::ArrayBuffer::New',
				],
				'V8, between the allocators of Node.js and what asked for a buffer',
			],
			[
				['os::malloc', 'os::realloc', 'os::strdup', 'AllocateHeap', 'ReallocateHeap'],
				"HotSpot's os.cpp, allocation.cpp: malloc for every part of the JVM",
			],
			[
				[
					'os::reserve_memory',
					'os::pd_reserve_memory',
					'os::commit_memory',
					'os::pd_commit_memory',
					'os::Linux::commit_memory_impl',
				],
				"HotSpot's os.cpp, os_linux.cpp: mmap for every part of the JVM",
			],
			[
				[
					'os::PlatformEvent::park',
					'PlatformEvent::park',
					'os::PlatformMonitor::wait',
					'PlatformMonitor::wait',
				],
				"HotSpot's os_posix.cpp: a condition variable, for any lock of the JVM",
			],
			[
				['take_gil', 'PyThread_acquire_lock', 'PyThread_acquire_lock_timed'],
				"CPython's ceval_gil.h, thread_pthread.h: any lock, and the interpreter's own",
			],
		] as const
	).flatMap(([names, why]) => names.map((name) => [name, why] as const)),
);

/** Wrappers that say more than what they wrap: that it is a lock, and what kind of lock. */
const TELLING_WRAPPERS: ReadonlySet<string> = new Set([
	'ProcSleep',
	'LockAcquireExtended',
	'LockAcquire',
	'LWLockAcquire',
	'LWLockAcquireOrWait',
	'LWLockWaitForVar',
	'take_gil',
]);

/** Functions of the C library that do not say what was asked of it. */
const UNTELLING_CALLS: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
	[/^_*(GI_+)?(internal_)?syscall(_cancel|_cp)?(_arch|_c|_asm)?$/, 'any system call'],
	[/^_*(GI_+)?(futex_\w*wait\w*|futex_lock_pi64|timedwait(_cp)?|wait)$/, 'any lock or condition'],
	[/^_*(GI_+)?(start_thread|start|clone3?|libc_start_\w+)$/, 'what a thread begins in'],
];

/** What calls each piece of work, in kernel/workqueue.c. */
const WORK_QUEUE: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
	[/^(worker_thread|process_(one_work|scheduled_works)|rescuer_thread)$/, 'any work'],
];

/** What a thread of the kernel begins in: kernel/kthread.c. */
const KERNEL_THREAD = 'kthread';

/** A name without what the compiler has put behind it: "do_poll.constprop.0". */
export const plain = remembered((name: string): string => {
	const dot = name.search(/\.(constprop|isra|part|cold|llvm)\b/);
	return dot < 0 ? name : name.slice(0, dot);
}, MOST_NAMES);

/** Whether a pattern of the table is about a name. */
const namedIn = (table: ReadonlyArray<readonly [RegExp, string]>) =>
	remembered((name: string) => table.some(([pattern]) => pattern.test(plain(name))), MOST_NAMES);

/** Whether a function of the kernel says nothing of what is waited for. */
export const isUntelling = namedIn(UNTELLING);
const isIdleWait = namedIn(IDLE_WAITS);
const isWorkQueue = namedIn(WORK_QUEUE);
const isUntellingCall = namedIn(UNTELLING_CALLS);

const isOfKernel = ({ kind }: Frame): boolean => kind === 'kernel';

/** The kernel's function that says what a thread waits for; undefined: it waits in none. Root first. */
export function waitFrame(frames: readonly Frame[]): Frame | undefined {
	return (
		frames.findLast((frame) => isOfKernel(frame) && !isUntelling(frame.name)) ??
		frames.findLast(isOfKernel)
	);
}

interface ProgramFrame {
	readonly frame: Frame;
	/** Whether it is known to have called the C library, a wrapper, or the kernel, itself. */
	readonly isLowest: boolean;
}

/**
 * The lowest function of the application's language, where a runtime has compiled one; else the lowest
 * function of the program that has a name and is no wrapper. Where all are wrappers, the lowest of them; where
 * none has a name, the lowest user frame. Frames are root first. `callerMissing`: the stack lacks
 * the function that called the lowest user frame.
 */
export function programFrame({
	frames,
	callerMissing = false,
}: {
	readonly frames: readonly Frame[];
	readonly callerMissing?: boolean | undefined;
}): ProgramFrame | undefined {
	const user = frames.filter(({ kind }) => kind !== 'kernel');
	const isTelling = (frame: Frame) => isOwn(frame) && !isWrapper(frame);
	const own =
		[isApplication, isTelling, isOwn].map((is) => user.findLastIndex(is)).find((at) => at >= 0) ??
		-1;
	const frame = user[own] ?? libraryCall(user) ?? user.at(-1);
	if (!frame) return undefined;
	const between = own < 0 ? [] : user.slice(own + 1);
	const missing = callerMissing && own >= 0;
	return {
		frame,
		isLowest: !missing && between.every((each) => each.inCLibrary || isWrapper(each)),
	};
}

/**
 * What the program has asked for, by the function that it has called: of the C library ("fsync", "send",
 * "pthread_cond_wait"), or a wrapper that says more. Undefined: it has called the kernel itself. Root first.
 */
export function callFrame(frames: readonly Frame[]): Frame | undefined {
	const user = frames.filter(({ kind }) => kind !== 'kernel');
	const below = user.findLastIndex((frame) => isOwn(frame) && !isWrapper(frame)) + 1;
	const wrapper = user.slice(below).find((frame) => TELLING_WRAPPERS.has(withoutArguments(frame)));
	return wrapper ?? libraryCall(user);
}

/** What the program has asked for, and the kernel's function that says what it waits for. Root first. */
export function waitFrames(frames: readonly Frame[]): Frame[] {
	return [callFrame(frames), waitFrame(frames)].filter((frame) => frame !== undefined);
}

/**
 * Why a thread is in the kernel: the system call, "page fault" or "interrupt"; of a thread of the kernel, the
 * outermost function that says something. Empty: it is not in the kernel. Root first.
 */
export function entryFrames(frames: readonly Frame[]): Frame[] {
	const kernel = frames.filter(({ kind }) => kind === 'kernel');
	for (const frame of kernel) {
		const name = plain(frame.name);
		const [pattern, entry] = ENTRIES.find(([each]) => each.test(name)) ?? [];
		if (pattern && entry) return [{ ...frame, name: name.replace(pattern, entry) }];
		if (!isUntelling(frame.name) && !isWorkQueue(frame.name)) return [frame];
	}
	// On its way in or out: the C library's function is that of the system call.
	return [(kernel.length > 0 && callFrame(frames)) || kernel.at(-1)].filter(
		(frame) => frame !== undefined,
	);
}

/** The outermost of the functions of the C library at the end of user frames, of those that tell. */
function libraryCall(user: readonly Frame[]): Frame | undefined {
	const begin = user.findLastIndex(({ inCLibrary }) => !inCLibrary) + 1;
	return user.slice(begin).find((frame) => isNamed(frame) && !isUntellingCall(frame.name));
}

function isWrapper(frame: Frame): boolean {
	return WRAPPERS.has(withoutArguments(frame));
}

/** Of "os::malloc(unsigned long, MEMFLAGS)": "os::malloc". */
export const withoutArguments = ({ name }: Pick<Frame, 'name'>): string => bareNameOf(name);

const bareNameOf = remembered((name: string): string => {
	const bare = plain(name);
	const end = bare.indexOf('(');
	return end < 0 ? bare : bare.slice(0, end);
}, MOST_NAMES);

function isOwn(frame: Frame): boolean {
	return !frame.inCLibrary && isNamed(frame);
}

/** "[unknown]", "[anon]" and "postgres+0x34b406" tell nothing. */
export const isNamed = ({ name }: Pick<Frame, 'name'>): boolean => saysFunction(name);

const saysFunction = remembered(
	(name: string) => !/^\[(unknown|anon|heap|stack)|\+0x[0-9a-f]+$/.test(name),
	MOST_NAMES,
);

/** Whether a thread waits there for work or for time: in nothing that somebody has to finish first. */
export function waitsForWork(frames: readonly Frame[]): boolean {
	if (frames.some((frame) => isOfKernel(frame) && isIdleWait(frame.name))) return true;
	// A thread of the kernel that waits in its own main function, not in a piece of work.
	const root = frames.findIndex(({ name, kind }) => kind === 'kernel' && name === KERNEL_THREAD);
	if (root < 0 || frames.some(({ kind }) => kind !== 'kernel')) return false;
	const below = frames.slice(root + 1).filter(({ name }) => !isUntelling(name));
	return below.length <= 1;
}
