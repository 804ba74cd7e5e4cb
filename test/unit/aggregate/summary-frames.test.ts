/** What the one line of a stack says, of stacks as offcputime found them in real programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '../../../src/aggregate/stack.js';
import {
	callFrame,
	entryFrames,
	programFrame,
	waitFrame,
	waitsForWork,
} from '../../../src/aggregate/summary-frames.js';

const SYSCALL = 'entry_SYSCALL_64_after_hwframe;do_syscall_64';

/**
 * "main;libc:read|vfs_read;schedule": user frames, those of the C library marked, and those that a runtime
 * has compiled ("jit:"); then the kernel's.
 */
function stackOf(text: string): Frame[] {
	const [user = '', kernel = ''] = text.split('|');
	const names = (part: string) => part.split(';').filter(Boolean);
	return [
		...names(user).map((name): Frame => {
			const own = name.replace(/^(libc|jit):/, '');
			const kind = name.startsWith('jit:') ? 'jit' : 'user';
			return { name: own, kind, ...(name.startsWith('libc:') ? { inCLibrary: true } : {}) };
		}),
		...names(kernel.replace('SYSCALL', SYSCALL)).map((name): Frame => ({ name, kind: 'kernel' })),
	];
}

interface Expected {
	readonly what: string;
	readonly stack: string;
	readonly program: string | undefined;
	readonly wait: string | undefined;
	/** What the program called; undefined: does not matter, or nothing. */
	readonly call?: string;
	/** Whether the program's function called the C library, or the kernel, itself. */
	readonly gap?: boolean;
	readonly idle?: boolean;
}

const FUTEX = 'SYSCALL;__x64_sys_futex;do_futex;futex_wait;__futex_wait;futex_do_wait;schedule';

const STACKS: readonly Expected[] = [
	{
		what: 'the issue: a lock',
		stack: `libc:start_thread;worker;place_order;libc:pthread_mutex_lock;libc:__lll_lock_wait|${FUTEX}`,
		program: 'place_order',
		call: 'pthread_mutex_lock',
		wait: 'futex_wait',
	},
	{
		what: 'futex, Linux 5.10 to 6.6',
		stack: 'f|SYSCALL;__x64_sys_futex;do_futex;futex_wait;__futex_wait;futex_wait_queue;schedule',
		program: 'f',
		wait: 'futex_wait',
	},
	{
		what: 'PostgreSQL: a lock of a row',
		stack:
			'libc:__libc_start_call_main;main;PostmasterMain;postgres+0x3efcbb;heap_update;LockAcquireExtended;ProcSleep;WaitLatch;libc:epoll_wait|SYSCALL;__x64_sys_epoll_wait;do_epoll_wait;schedule_hrtimeout_range',
		program: 'heap_update',
		call: 'LockAcquireExtended',
		wait: 'do_epoll_wait',
		idle: true,
	},
	{
		what: 'PostgreSQL: the end of a transaction',
		stack:
			'main;XactLockTableWait;LockAcquire;LockAcquireExtended;WaitOnLock;ProcSleep;WaitLatch;WaitEventSetWait;libc:epoll_wait|SYSCALL;__x64_sys_epoll_wait;do_epoll_wait;schedule_hrtimeout_range',
		program: 'XactLockTableWait',
		call: 'LockAcquire',
		wait: 'do_epoll_wait',
		idle: true,
	},
	{
		what: 'PostgreSQL: a lightweight lock',
		stack: `main;XLogFlush;LWLockAcquireOrWait;PGSemaphoreLock;libc:sem_wait;libc:__new_sem_wait_slow64|${FUTEX}`,
		program: 'XLogFlush',
		call: 'LWLockAcquireOrWait',
		wait: 'futex_wait',
	},
	{
		what: 'PostgreSQL without symbols: the next one that has a name',
		stack:
			'main;PostgresMain;pq_getbyte;postgres+0x34b406;libc:epoll_wait|SYSCALL;__x64_sys_epoll_wait;do_epoll_wait;ep_poll;schedule_hrtimeout_range',
		program: 'pq_getbyte',
		wait: 'ep_poll',
		gap: true,
		idle: true,
	},
	{
		what: 'PostgreSQL: its log is flushed',
		stack:
			'main;CommitTransaction;XLogFlush;libc:fdatasync|SYSCALL;__x64_sys_fdatasync;do_fsync;ext4_sync_file;blkdev_issue_flush;submit_bio_wait;wait_for_completion_io_timeout',
		program: 'XLogFlush',
		call: 'fdatasync',
		wait: 'blkdev_issue_flush',
	},
	{
		what: 'PostgreSQL: nothing but its latch',
		stack: 'libc:start;WaitLatch;WaitEventSetWait;libc:epoll_wait|SYSCALL;do_epoll_wait',
		program: 'WaitEventSetWait',
		wait: 'do_epoll_wait',
		idle: true,
	},
	{
		what: 'PostgreSQL: a function that only begins like one of its latch',
		stack: 'main;WaitLatchForMe;libc:epoll_wait|SYSCALL;do_epoll_wait',
		program: 'WaitLatchForMe',
		wait: 'do_epoll_wait',
		idle: true,
	},
	{
		what: 'Node.js: the memory of a buffer',
		stack:
			'JS:*upload /srv/app.js:3:15;node::Buffer::New(v8::Isolate*, unsigned long);node::NodeArrayBufferAllocator::AllocateUninitialized(unsigned long);libc:malloc',
		program: 'JS:*upload /srv/app.js:3:15',
		wait: undefined,
	},
	{
		what: 'Node.js: the memory of a buffer, allocated through builtins and modules of Node.js',
		stack:
			'node::Start;Builtins_JSEntry;jit:JS:*emit node:events:500:3;jit:JS:^keepForAudit /tmp/inv/leak.js:2:22;jit:JS:^alloc node:buffer:385:30;jit:JS:~FastBuffer node:internal/buffer:1064:14;jit:Builtin:TypedArrayConstructor;Builtins_CreateTypedArray;v8::internal::Builtin_ArrayBufferConstructor;v8::internal::BackingStore::Allocate(v8::internal::Isolate*, unsigned long);v8::internal::Heap::AllocateExternalBackingStore(std::function<void* (unsigned long)> const&, unsigned long);node::NodeArrayBufferAllocator::AllocateUninitialized(unsigned long)',
		program: 'JS:^keepForAudit /tmp/inv/leak.js:2:22',
		wait: undefined,
		gap: true,
	},
	{
		what: 'Node.js without a function of the application: as of any program',
		stack:
			'node::Start;jit:JS:~processTimers node:internal/timers:500:25;jit:RegExp:a b;uv__io_poll;libc:epoll_wait|SYSCALL;do_epoll_wait',
		program: 'uv__io_poll',
		wait: 'do_epoll_wait',
		idle: true,
	},
	{
		what: 'Node.js: the memory of a buffer, without names of JavaScript',
		stack:
			'v8::internal::ArrayBufferConstruct;v8::internal::Heap::AllocateExternalBackingStore(std::function<void* (unsigned long)> const&, unsigned long);node::NodeArrayBufferAllocator::AllocateUninitialized(unsigned long)',
		program: 'v8::internal::ArrayBufferConstruct',
		wait: undefined,
	},
	{
		what: 'Java: memory outside of the heap, through the JDK',
		stack:
			'JavaMain;jit:call_stub;jit:Interpreter;jit:void Leak.encodeFrame(int);jit:java.nio.ByteBuffer java.nio.ByteBuffer.allocateDirect(int);jit:long jdk.internal.misc.Unsafe.allocateMemory(long);jit:StubRoutines (initial stubs);Unsafe_AllocateMemory0(JNIEnv_*, _jobject*, long);os::malloc(unsigned long, MEMFLAGS)',
		program: 'void Leak.encodeFrame(int)',
		wait: undefined,
		gap: true,
	},
	{
		what: "Java: a method that returns the JDK's class is the application's",
		stack: 'jit:java.lang.String shop.Cart.name(int);Unsafe_Park;Parker::park(bool, long)',
		program: 'java.lang.String shop.Cart.name(int)',
		wait: undefined,
		gap: true,
	},
	{
		what: 'JVM 11 to 15: a monitor of its own',
		stack: `CompileQueue::get();Monitor::wait(long);os::PlatformMonitor::wait(long);libc:pthread_cond_timedwait|${FUTEX}`,
		program: 'Monitor::wait(long)',
		wait: 'futex_wait',
	},
	{
		what: 'JVM: memory of its own',
		stack:
			'libc:start_thread;SymbolTable::do_add(char const*, int);AllocateHeap(unsigned long, MEMFLAGS);os::malloc(unsigned long, MEMFLAGS);libc:malloc',
		program: 'SymbolTable::do_add(char const*, int)',
		wait: undefined,
	},
	{
		what: 'Python: a lock',
		stack: `lock_acquire;PyThread_acquire_lock_timed.constprop.0;libc:sem_clockwait|${FUTEX}`,
		program: 'lock_acquire',
		wait: 'futex_wait',
	},
	{
		what: 'PostgreSQL without symbols above its latch: what is between is missing',
		stack: 'main;postgres+0x1;WaitLatch;libc:epoll_wait|SYSCALL;do_epoll_wait',
		program: 'main',
		wait: 'do_epoll_wait',
		gap: true,
		idle: true,
	},
	{
		what: 'the journal of ext4',
		stack:
			'f|SYSCALL;__x64_sys_fsync;do_fsync;ext4_sync_file;ext4_fsync_journal;jbd2_complete_transaction;jbd2_log_wait_commit;schedule',
		program: 'f',
		wait: 'jbd2_log_wait_commit',
	},
	{
		what: 'write-back',
		stack:
			'f|SYSCALL;do_fsync;file_write_and_wait_range;__filemap_fdatawait_range;folio_wait_writeback;folio_wait_bit_common;io_schedule',
		program: 'f',
		wait: 'folio_wait_writeback',
	},
	{
		what: 'a file that is read from a disk',
		stack:
			'libc:read|SYSCALL;ksys_read;vfs_read;filemap_read;filemap_get_pages;folio_wait_bit_common;io_schedule',
		program: 'read',
		wait: 'filemap_read',
	},
	{
		what: 'redis, without frame pointers',
		stack:
			'[unknown];libc:epoll_wait|SYSCALL;__x64_sys_epoll_wait;do_epoll_wait;schedule_hrtimeout_range',
		program: 'epoll_wait',
		wait: 'do_epoll_wait',
		idle: true,
	},
	{
		what: 'Python: a socket',
		stack:
			'libc:recv|SYSCALL;__x64_sys_recvfrom;__sys_recvfrom;sock_recvmsg;unix_stream_recvmsg;unix_stream_read_generic;schedule_timeout',
		program: 'recv',
		wait: 'unix_stream_recvmsg',
	},
	{
		what: 'Python: time.sleep',
		stack:
			'_PyEval_EvalFrameDefault;time_sleep;libc:clock_nanosleep|SYSCALL;__x64_sys_clock_nanosleep;common_nsleep_timens;hrtimer_nanosleep;do_nanosleep',
		program: 'time_sleep',
		wait: 'do_nanosleep',
		idle: true,
	},
	{
		what: 'Node.js: a thread of its pool',
		stack: `libc:start_thread;worker;uv_cond_wait;libc:pthread_cond_wait;libc:__futex_abstimed_wait_common|${FUTEX}`,
		program: 'uv_cond_wait',
		call: 'pthread_cond_wait',
		wait: 'futex_wait',
	},
	{
		what: 'Java: a queue',
		stack: `libc:start_thread;Parker::park(bool, long);libc:pthread_cond_timedwait|${FUTEX}`,
		program: 'Parker::park(bool, long)',
		wait: 'futex_wait',
	},
	{
		what: 'Node.js: JavaScript',
		stack:
			'uv_run;JS:*roots /srv/app.js:3:15;libc:open|SYSCALL;do_sys_openat2;ext4_truncate;blkdev_issue_discard;submit_bio_wait;wait_for_completion_io_timeout',
		program: 'JS:*roots /srv/app.js:3:15',
		wait: 'blkdev_issue_discard',
	},
	{
		what: 'TCP',
		stack:
			'f|SYSCALL;__sys_recvfrom;inet_recvmsg;tcp_recvmsg;tcp_recvmsg_locked;sk_wait_data;wait_woken;schedule_timeout',
		program: 'f',
		wait: 'tcp_recvmsg',
	},
	{
		what: 'poll, whose answer may be one peer',
		stack:
			'f|SYSCALL;__x64_sys_poll;do_sys_poll;do_poll.constprop.0;poll_schedule_timeout.constprop.0;schedule_hrtimeout_range',
		program: 'f',
		wait: 'do_poll.constprop.0',
	},
	{
		what: 'a pipe',
		stack: 'f|SYSCALL;ksys_write;vfs_write;anon_pipe_write;schedule',
		program: 'f',
		wait: 'anon_pipe_write',
	},
	{
		what: 'a child',
		stack: 'libc:wait4|SYSCALL;kernel_wait4;do_wait;schedule',
		program: 'wait4',
		wait: 'do_wait',
	},
	{
		what: 'a thread of the kernel without work',
		stack: '|ret_from_fork_asm;ret_from_fork;kthread;worker_thread;schedule',
		program: undefined,
		wait: 'worker_thread',
		idle: true,
	},
	{
		what: 'a thread of the kernel with work',
		stack:
			'|ret_from_fork_asm;ret_from_fork;kthread;worker_thread;process_one_work;wb_workfn;submit_bio_wait;wait_for_completion_io',
		program: undefined,
		wait: 'wb_workfn',
	},
	{
		what: 'the C library alone: its function that tells',
		stack: `libc:clone3;libc:start_thread;libc:pthread_cond_wait;libc:__futex_abstimed_wait_common|${FUTEX}`,
		program: 'pthread_cond_wait',
		call: 'pthread_cond_wait',
		wait: 'futex_wait',
	},
	{
		what: 'Python: the lock of its interpreter',
		stack: `_PyEval_EvalFrameDefault;take_gil;libc:pthread_cond_timedwait|${FUTEX}`,
		program: '_PyEval_EvalFrameDefault',
		call: 'take_gil',
		wait: 'futex_wait',
	},
	{
		what: 'nothing but the scheduler',
		stack: 'f|SYSCALL;exit_to_user_mode_loop;schedule',
		program: 'f',
		wait: 'schedule',
	},
	{ what: 'no stack', stack: '|', program: undefined, wait: undefined },
];

for (const { what, stack, program, wait, call, gap = false, idle = false } of STACKS) {
	test(what, () => {
		const frames = stackOf(stack);
		const found = programFrame({ frames });
		assert.equal(found?.frame.name, program);
		assert.equal(found?.isLowest ?? true, !gap);
		assert.equal(waitFrame(frames)?.name, wait);
		if (call !== undefined) assert.equal(callFrame(frames)?.name, call);
		assert.equal(waitsForWork(frames), idle);
	});
}

test('a caller that is missing: what is below it is not the lowest', () => {
	const frames = stackOf('main;libc:read|SYSCALL;vfs_read;anon_pipe_read;schedule');
	assert.equal(programFrame({ frames })?.isLowest, true);
	assert.equal(programFrame({ frames, callerMissing: true })?.isLowest, false);
	// The C library's own function was seen to call the kernel.
	const alone = stackOf('libc:read|SYSCALL;vfs_read');
	assert.equal(programFrame({ frames: alone, callerMissing: true })?.isLowest, true);
});

test('a kernel function named as if it were a user one, and the other way round', () => {
	const frames = stackOf('do_nanosleep;schedule|SYSCALL;vfs_read;anon_pipe_read;schedule');
	assert.equal(waitsForWork(frames), false);
	assert.equal(programFrame({ frames })?.frame.name, 'schedule');
});

test('Java, named by an agent: names have semicolons of their own', () => {
	const names = ['Lshop/Cart;::name', 'Ljava/util/HashMap;::get', 'Lsun/misc/Unsafe;::park'];
	const frames = names.map((name): Frame => ({ name, kind: 'jit' }));
	assert.equal(programFrame({ frames })?.frame.name, 'Lshop/Cart;::name');
});

test('what the program called: nothing that says less than the kernel', () => {
	const callOf = (stack: string) => callFrame(stackOf(stack))?.name;
	assert.equal(callOf('f|SYSCALL;vfs_read'), undefined, 'itself');
	assert.equal(callOf('f;libc:syscall|SYSCALL;vfs_read'), undefined);
	assert.equal(callOf('f;libc:fsync;libc:__syscall_cancel;libc:__syscall_cancel_arch'), 'fsync');
	// What the C library calls back is not the C library's; a wrapper above it says nothing of it.
	assert.equal(callOf('LockAcquire;libc:qsort;compare|SYSCALL;vfs_read'), undefined);
	assert.equal(callOf('libc:qsort;compare;libc:send|SYSCALL;tcp_sendmsg'), 'send');
});

const ENTRIES: ReadonlyArray<readonly [stack: string, entry: string | undefined]> = [
	['f;libc:write|SYSCALL;x64_sys_call;__x64_sys_write;ksys_write;vfs_write;asm_sysvec_x', 'write'],
	['f|el0t_64_sync;el0t_64_sync_handler;el0_svc;do_el0_svc;__arm64_sys_read;vfs_read', 'read'],
	['f|SYSCALL;__ia32_compat_sys_openat;do_sys_openat2', 'openat'],
	[
		'f;libc:memcpy|asm_exc_page_fault;exc_page_fault;do_user_addr_fault;clear_page_erms',
		'page fault',
	],
	['f|asm_exc_page_fault;irqentry_exit_to_user_mode', 'page fault'],
	['f|el0t_64_sync;el0t_64_sync_handler;el0_da;do_mem_abort;do_page_fault', 'page fault'],
	['f|asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;irq_exit_rcu', 'interrupt'],
	['f|el0t_64_irq;el0t_64_irq_handler;el0_interrupt;do_interrupt_handler', 'interrupt'],
	['f;libc:getppid|SYSCALL', 'getppid'],
	['f|SYSCALL', 'do_syscall_64'],
	[
		'|ret_from_fork_asm;ret_from_fork;kthread;worker_thread;process_one_work;wb_workfn;x',
		'wb_workfn',
	],
	['|ret_from_fork_asm;ret_from_fork;kthread;kswapd;balance_pgdat', 'kswapd'],
	['f;libc:memcpy', undefined],
	// The program's own functions may have such names.
	['exc_page_fault;f', undefined],
];

for (const [stack, entry] of ENTRIES) {
	test(`why a thread is in the kernel: ${stack}`, () => {
		assert.equal(entryFrames(stackOf(stack))[0]?.name, entry);
	});
}
