/**
 * The tables of names, one name at a time: each is what its table says, and a name that only begins or ends like it
 * is somebody's own function.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functionOf, isApplication } from '../../../src/aggregate/application-frames.js';
import {
	callFrame,
	entryFrames,
	programFrame,
	waitFrame,
	waitsForWork,
} from '../../../src/aggregate/summary-frames.js';

const kernel = (name: string) => ({ name, kind: 'kernel' as const });
const jit = (name: string) => ({ name, kind: 'jit' as const });

/** Whether the function below vfs_read says more than that is waited. */
const tells = (name: string) => waitFrame([kernel('vfs_read'), kernel(name)])?.name === name;

const UNTELLING = `
	schedule io_schedule __cond_resched preempt_schedule schedule_timeout
	wait_for_completion __wait_for_common do_wait_for_common
	bit_wait __wait_on_bit wait_on_bit out_of_line_wait_on_bit
	wait_woken prepare_to_wait finish_wait woken_wake_function
	sk_wait_data sk_stream_wait_memory __skb_wait_for_more_packets __skb_recv_udp skb_recv_datagram
	unix_stream_data_wait unix_stream_read_generic tcp_recvmsg_locked tcp_sendmsg_locked
	__futex_wait futex_do_wait futex_wait_queue futex_wait_queue_me poll_schedule_timeout
	folio_wait_bit folio_wait_bit_common page_lock folio_wait_locked __folio_lock __folio_lock_killable
	filemap_get_pages filemap_update_page filemap_read_folio submit_bio_wait blk_wait_io blk_mq_wait_quiesce
	rt_mutex_schedule rt_mutex_slowlock rt_mutex_slowlock_block __rt_mutex_slowlock
	rwsem_down_read_slowpath rwsem_down_write_slowpath __mutex_lock __mutex_lock_slowpath
	hrtimer_nanosleep common_nsleep common_nsleep_timens
	do_syscall_64 do_int80_emulation x64_sys_call entry_SYSCALL_64_after_hwframe asm_exc_page_fault
	el0_svc el0t_64_sync invoke_syscall do_el0_svc ret_from_fork ret_from_fork_asm kthread
	exit_to_user_mode_loop irqentry_exit_to_user_mode`
	.trim()
	.split(/\s+/);

test('functions of the kernel that say only that somebody waits', () => {
	for (const name of UNTELLING) {
		assert.ok(!tells(name), name);
		assert.ok(!tells(`${name}.constprop.0`), 'the compiler has put its own behind it');
		// Those that may have anything in front.
		if (!/exit_to_user_mode/.test(name)) assert.ok(tells(`my_${name}`), `my_${name}`);
	}
	const own = `
		rescheduled waitqueue tcp_recvmsg tcp_sendmsg futex_wait do_poll filemap_read skb_recv rt_mutex_lock
		down_read mutex_lock do_nanosleep sk_wait_data_x poll_schedule_timeout_x tcp_recvmsg_lockedx
		unix_stream_recvmsg submit_bio_wait_x invoke_syscall_x kthreadd do_syscall_64x x64_sys_callx
		skb_recv_datagram_x filemap_read_folio_x futex_wait_queue_x rt_mutex_schedule_x bit_waiter`;
	for (const name of own.trim().split(/\s+/)) assert.ok(tells(name), name);
	assert.ok(tells('schedule.mine'), 'no compiler writes that');
});

test('waits for work or for time, and what only looks like them', () => {
	const names = `ep_poll do_epoll_wait do_nanosleep hrtimer_nanosleep do_sigtimedwait sigsuspend
		__do_sys_pause __x64_sys_pause __arm64_sys_pause inet_csk_accept unix_accept`;
	for (const name of names.split(/\s+/)) {
		assert.ok(waitsForWork([kernel(name), kernel('schedule')]), name);
		assert.ok(!waitsForWork([kernel(`x${name}`)]), `x${name}`);
		assert.ok(!waitsForWork([kernel(`${name}x`)]), `${name}x`);
		assert.ok(!waitsForWork([{ name, kind: 'user' }]), `the program's ${name}`);
	}
});

test('a thread of the kernel waits for work in its main function, and in no piece of work', () => {
	const thread = (...names: string[]) =>
		waitsForWork(['ret_from_fork', 'kthread', ...names].map(kernel));
	assert.ok(thread('kswapd', 'schedule'));
	assert.ok(thread('schedule'));
	assert.ok(!thread('kswapd', 'balance_pgdat', 'schedule'));
	assert.ok(!waitsForWork([kernel('kswapd'), kernel('schedule')]), 'nobody knows what that is');
	const named = [{ name: 'main', kind: 'user' as const }, kernel('kthread'), kernel('schedule')];
	assert.ok(!waitsForWork(named), 'it has user frames');
});

/** As V8, HotSpot, .NET and Python write them into their perf maps. */
const OF_RUNTIMES = `Builtin:ArgumentsAdaptorTrampoline
Stub:CEntryStub
BytecodeHandler:LdaZero
Handler:LoadIC
Callback:get
RegExp:a+
Interpreter
call_stub
StubRoutines (1)
RuntimeStub - _new_instance_Java
Runtime1 stub new_instance
DeoptimizationBlob
I2C/C2I adapters
vtable chunks
flush_icache_stub
[]
[anon code]
[PreStub] void Shop.Cart::Add()
stub<1> AllocateTemporaryEntryPoints<PRECODE_STUB>
GenerateResolveStub<GenerateResolveStub>
LazyCompile:*emit node:events:512:3
LazyCompile:~f internal/timers.js:10:2
processTimers (node:internal/timers)
emit (node:events:512)
int java.util.HashMap.hash(java.lang.Object)
void sun.misc.Unsafe.park(boolean, long)
java.lang.Thread.run()
com.sun.jndi.Ldap.search()
Ljava/util/HashMap;::get
Lcom/sun/jndi/Ldap;::search
py::_find_and_load:<frozen importlib._bootstrap>
Thread.run (/usr/lib/python3.11/threading.py:975)
loads (/usr/lib/python3/json/decoder.py:9)`.split('\n');

const OF_APPLICATIONS = `LazyCompile:*load /srv/shop/cart.js:3:1
LazyCompile:*load /srv/node:x/cart.js:a:1
load (/srv/shop/cart.js:3)
load (/srv/node:x/cart.js:3)
(anonymous) ([eval]:1)
MyInterpreter
Interpreters
call_stub_x
BlobStore
my[anon code]
Substub<1>
xstub<1> y
int shop.java.util.Cart.add(int)
java_like.Cart.add()
Lshop/java/Cart;::add
App.run (/usr/lib/python3/dist-packages/shop/app.py:3)
App.run (/usr/local/lib/python3.11/dist-packages/shop/app.py:3)
App.run (/srv/venv/lib/python3.11/site-packages/shop/app.py:3)
xLjava/util/HashMap;::get
py::load:/srv/shop/frozen.py
mypy::load:x
FunctionBuiltin:x`.split('\n');

test('code that a runtime has made for itself, or that its own libraries have', () => {
	for (const name of OF_RUNTIMES) assert.ok(!isApplication(jit(name)), name);
	for (const name of OF_APPLICATIONS) {
		assert.ok(isApplication(jit(name)), name);
		assert.ok(!isApplication({ name, kind: 'user' }), 'compiled ahead of time');
	}
});

test('a function is called the same, whatever it was compiled by, and without what it returns', () => {
	for (const by of ['~', '*', '^', '+', "*'", ''])
		assert.equal(functionOf(jit(`JS:${by}load /srv/cart.js:3:1`)), 'JS:load /srv/cart.js:3:1');
	const names = {
		'void Leak.encodeFrame(int)': 'Leak.encodeFrame(int)',
		'int[] shop.Cart$Item.<init>()': 'shop.Cart$Item.<init>()',
		'a void Leak.f(int)': 'a void Leak.f(int)',
		'void f(int)': 'void f(int)',
		'void Leak.f(int) x': 'void Leak.f(int) x',
		'x JS:*load': 'x JS:*load',
	};
	for (const [name, called] of Object.entries(names)) assert.equal(functionOf(jit(name)), called);
	const user = { name: 'JS:*load', kind: 'user' } as const;
	assert.equal(functionOf(user), user.name, 'nobody has compiled it anew');
});

const user = (name: string) => ({ name, kind: 'user' as const });
const inLibrary = (name: string) => ({ ...user(name), inCLibrary: true });

/** Functions of databases and runtimes that wait or allocate for whoever calls them. */
const WRAPPERS = `WaitLatch WaitLatchOrSocket WaitEventSetWait WaitEventSetWaitBlock
	ProcSleep WaitOnLock LockAcquireExtended LockAcquire
	LWLockAcquire LWLockAcquireOrWait LWLockWaitForVar PGSemaphoreLock
	node::NodeArrayBufferAllocator::Allocate node::NodeArrayBufferAllocator::AllocateUninitialized
	node::NodeArrayBufferAllocator::Reallocate node::Buffer::New
	v8::internal::BackingStore::Allocate v8::internal::Heap::AllocateExternalBackingStore v8::ArrayBuffer::New
	os::malloc os::realloc os::strdup AllocateHeap ReallocateHeap
	os::reserve_memory os::pd_reserve_memory os::commit_memory os::pd_commit_memory os::Linux::commit_memory_impl
	os::PlatformEvent::park PlatformEvent::park os::PlatformMonitor::wait PlatformMonitor::wait
	take_gil PyThread_acquire_lock PyThread_acquire_lock_timed`.split(/\s+/);
/** Of these, those that say that it is a lock, or which one. */
const TELLING =
	`ProcSleep LockAcquireExtended LockAcquire LWLockAcquire LWLockAcquireOrWait LWLockWaitForVar
	take_gil`.split(/\s+/);

test('what a wrapper does, its caller has asked for; only some wrappers say more than what they call', () => {
	for (const name of WRAPPERS) {
		for (const written of [name, `${name}(unsigned long)`, `${name}.part.0`]) {
			const frames = [user('caller'), user(written), inLibrary('poll')];
			const { frame, isLowest } = programFrame({ frames }) ?? {};
			assert.deepEqual([frame?.name, isLowest], ['caller', true], written);
			assert.equal(callFrame(frames)?.name, TELLING.includes(name) ? written : 'poll');
		}
		const own = `${name}_of_mine`;
		assert.equal(programFrame({ frames: [user('caller'), user(own)] })?.frame.name, own);
	}
});

test('functions of the C library that do not say what was asked of it', () => {
	const untelling = `syscall __syscall_cancel __internal_syscall_cancel __syscall_cancel_arch __syscall_cp
		__syscall_cp_c __syscall_cp_asm __GI___syscall_cancel futex_wait __futex_abstimed_wait_common
		__GI___futex_abstimed_wait_cancelable64 __futex_lock_pi64 __timedwait __timedwait_cp __wait start_thread start
		clone __clone clone3 __clone3 __libc_start_main __libc_start_call_main`;
	for (const name of untelling.split(/\s+/)) {
		assert.equal(callFrame([user('f'), inLibrary(name)]), undefined, name);
		assert.equal(callFrame([user('f'), inLibrary(name), inLibrary('fsync')])?.name, 'fsync', name);
		const other = `x${name}`;
		assert.equal(callFrame([user('f'), inLibrary(other)])?.name, other);
	}
	for (const name of ['waitpid', 'pthread_mutex_lock', 'sem_timedwait', 'startx'])
		assert.equal(callFrame([user('f'), inLibrary(name)])?.name, name);
});

test('why a thread is in the kernel, by each function that it comes in through', () => {
	const entry = (...names: string[]) => entryFrames([user('f'), ...names.map(kernel)])[0]?.name;
	const faults = `asm_exc_page_fault exc_page_fault el0_da el0_ia el1_abort do_mem_abort do_page_fault`;
	for (const name of faults.split(' ')) assert.equal(entry(name, 'x'), 'page fault', name);
	const interrupts = `asm_sysvec_apic_timer_interrupt sysvec_reschedule_ipi asm_common_interrupt common_interrupt
		el0t_64_irq el1h_64_irq_handler el0_interrupt el1_interrupt`;
	for (const name of interrupts.split(/\s+/)) {
		const said = name === 'el1h_64_irq_handler' ? name : 'interrupt';
		assert.equal(entry(name, 'x'), said, name);
	}
	for (const name of [
		'__x64_sys_read',
		'__ia32_sys_read',
		'__arm64_sys_read',
		'__ia32_compat_sys_read',
	])
		assert.equal(entry('do_syscall_64', name, 'x'), 'read', name);
	for (const name of [
		'worker_thread',
		'process_one_work',
		'process_scheduled_works',
		'rescuer_thread',
	])
		assert.equal(entry('kthread', name, 'my_work', 'x'), 'my_work', name);
});

test('where no function has a name, the lowest one of the program stands for it', () => {
	const frames = [user('[unknown]'), user('app+0x12'), user('app+0x34'), kernel('vfs_read')];
	assert.equal(programFrame({ frames })?.frame.name, 'app+0x34');
});
