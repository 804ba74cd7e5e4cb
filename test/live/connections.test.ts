/** Connections that nobody takes, or asks for, and one of very many: kinds, objects, and who ended the wait. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chainText, checkedRuns, ofChain, within } from './chain-reports.js';
import { type JsonStack, stackReport, sumOf, withFrame } from './stacks.js';
import { Tracing, tstrace, until, Workload } from './support.js';

const TRIES = 10;
/** Of all processes together: the one that is traced has as many of them as it may. */
const CONNECTIONS = 100_000;

const TOOLS = {
	offcputime: { args: ['offcputime'], field: 'blocked' },
	offwaketime: { args: ['offwaketime', '--hops', '2'], field: 'value' },
} as const;
type Tool = (typeof TOOLS)[keyof typeof TOOLS];

async function traced({ args }: Tool, [name = '', ...words]: readonly string[]) {
	const workload = await Workload.start(name, ...words);
	const tracing = await Tracing.start([...args, '--json', '-p', `${workload.pid}`]);
	const done = await workload.work();
	const { stacks, lost, notices, duration_s } = stackReport(await tracing.end('SIGINT'));
	await workload.end();
	assert.equal(lost.objects_full, undefined);
	return { stacks, lost, notices, done, all_ns: duration_s * 1e9, peer: workload.tid };
}

const isMissingEnds = (notice: string) => /not all processes/.test(notice);

/** On a busy machine the time may not do to look at all descriptors, which is said: then the run is made again. */
async function withAllEnds(run: () => ReturnType<typeof traced>): ReturnType<typeof traced> {
	for (let left = 3; ; left--) {
		const found = await run();
		if (left === 0 || !found.notices.some(isMissingEnds)) return found;
	}
}

/** Nothing but the time is left out. */
const objectsIn = (stacks: readonly JsonStack[]) =>
	stacks.flatMap(({ wait }) => (wait?.objects ?? []).map(({ value_ns: _, ...object }) => object));

/** How long the thread waited, only in that kind. */
function waitedIn(stacks: readonly JsonStack[], kind: string, { field }: Tool): number {
	const waits = stacks.filter((stack) => stack[field] > 0);
	assert.ok(waits.length > 0, kind);
	for (const { wait } of waits) assert.equal(wait?.kind, kind);
	return sumOf(waits, field);
}

for (const [name, tool] of Object.entries(TOOLS)) {
	test(`${name}: who cannot connect, as nobody takes connections: where to, and who listens there`, () =>
		checkedRuns(
			() => traced(tool, ['outside', 'full', `${TRIES}`]),
			({ stacks, done: [tried_ns = 0, port, busy_ns = 0], all_ns, peer }) => {
				const trying = withFrame(stacks, 'try_to_connect');
				const of = (comm: string) => trying.filter(({ key }) => key.comm === comm);
				// The one gives up by itself, the other one never.
				for (const [comm, most_ns, attempts] of [
					['client', tried_ns, TRIES],
					['stays', all_ns, 1],
				] as const) {
					const waited_ns = waitedIn(of(comm), 'socket_connect', tool);
					within(waited_ns, tried_ns - busy_ns, most_ns, comm);
					const objects = objectsIn(of(comm));
					assert.equal(new Set(objects.map(({ local }) => local)).size, attempts);
					for (const { local, ...object } of objects) {
						assert.match(`${local}`, /^127\.0\.0\.1:[1-9]\d*$/);
						assert.deepEqual(object, {
							...{ type: 'socket', protocol: 'tcp', remote: `127.0.0.1:${port}` },
							other_end: [{ pid: peer, comm: 'server' }],
						});
					}
				}
				if (name !== 'offwaketime') return;
				for (const stack of of('client')) assert.equal(chainText(stack), '<softirq: timer>');
				for (const stack of of('stays')) assert.equal(chainText(stack), '[not woken yet]');
			},
		));

	test(`${name}: who would take a connection, and nobody comes: where it listens`, () =>
		checkedRuns(
			() => traced(tool, ['outside', 'nobody', `${TRIES}`]),
			({ stacks, done: [held_ns = 0, port], all_ns }) => {
				const taking = withFrame(stacks, 'take');
				within(waitedIn(taking, 'socket_accept', tool), held_ns, all_ns, 'taker');
				const listener = { type: 'socket', protocol: 'tcp', local: `0.0.0.0:${port}` };
				assert.deepEqual(objectsIn(taking), [{ ...listener, remote: '', other_end: [] }]);
				if (name !== 'offwaketime') return;
				for (const stack of taking) assert.equal(chainText(stack), '[not woken yet]');
			},
		));

	test(`${name}: one of very many connections: which, and who is at its other end`, () =>
		checkedRuns(
			() => withAllEnds(() => traced(tool, ['connections', `${CONNECTIONS}`])),
			({ stacks, done, notices, peer }) => {
				const [slept_ns = 0, port, local, held = 0, last, most_ns = 0] = done;
				assert.ok(held > 1000, 'a process has many of them');
				const hearing = withFrame(stacks, 'hear');
				const waited_ns = waitedIn(hearing, 'socket_receive', tool);
				within(waited_ns, slept_ns, most_ns, 'for peer');
				for (const object of objectsIn(hearing))
					assert.deepEqual(object, {
						...{ type: 'socket', protocol: 'tcp', local: `127.0.0.1:${local}` },
						...{ remote: `127.0.0.${last}:${port}`, other_end: [{ pid: peer, comm: 'peer' }] },
					});
				assert.deepEqual(notices.filter(isMissingEnds), []);
				if (name !== 'offwaketime') return;
				const slept = ofChain(hearing, 'peer blocked < <irq: timer>');
				within(sumOf(slept), slept_ns, slept_ns, 'for peer that slept');
			},
		));
}

/** In a network namespace, where nobody else has it. */
const PORT = 7001;

test('the same two ports of 127.0.0.1 are one connection in each network namespace', async () => {
	await checkedRuns(
		async () => {
			const [own, other] = await Promise.all(
				[0, 1].map(() => Workload.start('connections', '1', `${PORT}`)),
			);
			assert.ok(own && other);
			const tracing = await Tracing.start(['offcputime', '--json', '-p', `${own.pid}`]);
			const done = await own.work();
			const { stacks, lost } = stackReport(await tracing.end('SIGINT'));
			for (const each of [own, other]) await each.end();
			return { stacks, lost, done, peer: own.tid };
		},
		({ stacks, done: [, port, local], peer }) => {
			assert.deepEqual([port, local], [PORT, PORT + 1]);
			const objects = objectsIn(withFrame(stacks, 'hear'));
			assert.ok(objects.length > 0);
			for (const object of objects)
				assert.deepEqual(object, {
					...{ type: 'socket', protocol: 'tcp', local: `127.0.0.1:${PORT + 1}` },
					...{ remote: `127.0.0.1:${PORT}`, other_end: [{ pid: peer, comm: 'peer' }] },
				});
		},
	);
});

/** In a network of its own: a child that has connected to an address, and waits for an answer; nobody accepts. */
const NOT_ACCEPTED = `
import fcntl, os, signal, socket, struct, sys
address, family = sys.argv[1], socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
# netdevice(7): the loopback device has to be up, and gets one more address.
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8914, 0x8916, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
    fcntl.ioctl(any, SIOCSIFFLAGS, struct.pack('16sh22x', b'lo', IFF_UP))
    own = struct.pack('16sHH4s16x', b'lo:1', socket.AF_INET, 0, socket.inet_aton('10.1.2.3'))
    fcntl.ioctl(any, SIOCSIFADDR, own)
server = socket.create_server((address, ${PORT}), family=family)
where, client = server.getsockname()[:2], os.fork()
if not client:
    server.close()
    socket.create_connection(where).recv(1)
print('ready', os.getpid(), client, flush=True)
sys.stdin.buffer.raw.read(1)
os.kill(client, signal.SIGKILL)
`;

for (const address of ['127.0.0.1', '::1', '10.1.2.3'])
	test(`who listens at ${address}, and has not accepted yet, is at the other end`, async () => {
		const python = ['python3', '-c', NOT_ACCEPTED, address];
		// In the network of the other one everything is the same.
		const servers = await Promise.all(
			[0, 1].map(() => Workload.startBy('unshare', '-n', ...python)),
		);
		const [server = assert.fail()] = servers;
		const RECVFROM = process.arch === 'arm64' ? 207 : 45;
		const isReceiving = ({ tid }: Workload) =>
			readFileSync(`/proc/${tid}/syscall`, 'utf8').startsWith(`${RECVFROM} `);
		await until(() => servers.every(isReceiving));
		const args = ['offcputime', '--json', '-p', `${server.tid}`, '0.3'];
		const objects = objectsIn(stackReport(tstrace(args)).stacks);
		for (const each of servers) await each.end();
		const at = address.includes(':') ? `[${address}]` : address;
		for (const { local, remote } of objects) {
			assert.equal(remote, `${at}:${PORT}`);
			assert.ok(`${local}`.startsWith(`${at}:`) && local !== remote, `${local}`);
		}
		const ends = objects.map((object) => object.other_end);
		assert.deepEqual(ends, [[{ pid: server.pid, comm: 'python3' }]], JSON.stringify(objects));
	});
