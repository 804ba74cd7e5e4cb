/** What is planned for calls by what they do, whatever their arguments are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTables } from '../../../../src/abi/syscalls.js';
import { trace as layout } from '../../../../src/generated/trace.js';
import { encodePlan, hasDescriptor } from '../../../../src/tools/trace/plans.js';
import { SIGNATURES } from '../../../../src/tools/trace/signatures.js';
import { planner } from './lines.js';

/**
 * Of the manual's pages: a call of this name gives a new descriptor, or fails. bpf, seccomp and landlock_create_ruleset
 * do so for some of what they are asked: they are not of these.
 */
const GIVE_DESCRIPTORS = (
	'accept accept4 creat dup dup2 dup3 epoll_create epoll_create1 eventfd eventfd2 fanotify_init fsmount fsopen ' +
	'fspick inotify_init inotify_init1 io_uring_setup memfd_create memfd_secret mq_open open open_by_handle_at ' +
	'open_tree open_tree_attr openat openat2 perf_event_open pidfd_getfd pidfd_open signalfd signalfd4 socket ' +
	'timerfd_create userfaultfd'
).split(' ');

/** By name; the calls of this machine, and those of its 32-bit programs. */
const plans = callTables().flatMap((table, i) =>
	Object.entries(table).map(([nr, name]) => {
		const abi = i === 0 ? ('native' as const) : ('32-bit' as const);
		return { name, plan: planner.plan({ nr: Number(nr), abi }) };
	}),
);

test('results that are descriptors: of the calls that give one, and of no others', () => {
	const given = [...SIGNATURES].filter(([, words]) => words.at(-1) === '=fd');
	assert.deepEqual(given.map(([name]) => name).sort(), GIVE_DESCRIPTORS);
	for (const { name, plan } of plans)
		assert.equal(plan.returns === 'descriptor', GIVE_DESCRIPTORS.includes(name), name);
});

test('a call has a descriptor whichever argument that is', () => {
	const having = plans.filter(({ plan }) => hasDescriptor(plan)).map(({ name }) => name);
	for (const name of ['read', 'epoll_ctl', 'fsconfig', 'sendfile'])
		assert.ok(having.includes(name), name);
	for (const name of ['getpid', 'munmap', 'open', 'stat']) assert.ok(!having.includes(name), name);
	// The fifth one of six; a 32-bit program has another call of that name, with all in memory.
	const mapping = plans.find(({ name }) => name === 'mmap') ?? assert.fail();
	assert.ok(hasDescriptor(mapping.plan));
});

/** Of the manual's pages, which of a call's arguments it writes a set of signals to; all others it reads. */
const SETS_WRITTEN: Readonly<Record<string, number>> = { rt_sigpending: 0, rt_sigprocmask: 2 };

test('sets of signals: read as the call begins, and what it writes as it returns', () => {
	const [native] = callTables();
	for (const [nr, name] of Object.entries(native)) {
		const { arguments: planned } = planner.plan({ nr: Number(nr), abi: 'native' });
		const sets = planned.flatMap(({ argument: { kind }, capture }) =>
			capture && kind.startsWith('sigset') ? [capture] : [],
		);
		const written = sets.filter(({ atExit }) => atExit).map(({ argument }) => argument);
		assert.deepEqual(written, name in SETS_WRITTEN ? [SETS_WRITTEN[name]] : [], name);
	}
});

test('calls that replace the memory that their arguments are in', () => {
	const { offset } = layout.structs.call_plan.fields.replaces_memory;
	const replacing = plans.filter(({ plan }) => encodePlan(plan)[offset] === 1);
	assert.deepEqual([...new Set(replacing.map(({ name }) => name))].sort(), ['execve', 'execveat']);
	assert.equal(replacing.length, 2 * callTables().length);
});
