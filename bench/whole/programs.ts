/** Debian's programs as they are, each under a load of its own, in a folder of its own. */
import {
	AS_POSTGRES,
	begin,
	childOf,
	done,
	nginxWorker,
	POSTGRES,
	postgresServer,
	redisServer,
	until,
	written,
} from '../shared/servers.js';
import { BASH, GDB, GO, JAVA, NODE, PERL, PYTHON } from './loads.js';

/** Where ports of this run begin; each program has its own. */
const PORT = 17_800;

export interface Thread {
	readonly tid: number;
	readonly comm: string;
}

export interface Program {
	readonly name: string;
	/** Starts it and its load; returns the process that is to be traced. */
	start(folder: string): Promise<number>;
	/** Threads to count apart from others: by what they do. */
	readonly groups?: Readonly<Record<string, (thread: Thread, pid: number) => boolean>>;
	/** Its heap is not the C library's. */
	readonly noHeap?: true;
	/** The code that it makes at run time keeps frame pointers. */
	readonly keepsFramePointers?: true;
	/** It says nothing of its own code: debuggers guess, too. */
	readonly noTables?: true;
}

const ab = (port: number, folder: string, ...options: string[]) =>
	begin(
		[
			'ab',
			'-q',
			'-t',
			'600',
			'-n',
			'99999999',
			'-c',
			'4',
			...options,
			`http://127.0.0.1:${port}/t`,
		],
		folder,
	);

const TEXT = 'A text that is long enough to be worth compressing, and does not end soon.\n';

async function redis(folder: string): Promise<number> {
	const port = `${PORT}`;
	const synced = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
	const pid = await redisServer(folder, ['-p', port], ['--port', port, ...synced]);
	const load = ['-t', 'set,get,lpush,lrange_100', '-r', '100000', '-l', '-q'];
	begin(['redis-benchmark', '-p', port, ...load], folder);
	return pid;
}

async function nginx(folder: string): Promise<number> {
	const port = PORT + 1;
	written(folder, 't', TEXT.repeat(2000));
	const server = `listen 127.0.0.1:${port}; root ${folder}; default_type text/plain;`;
	const worker = await nginxWorker(folder, `gzip on; gzip_types text/plain; server { ${server} }`);
	await until(['ab', '-n', '1', `http://127.0.0.1:${port}/t`], folder);
	ab(port, folder, '-H', 'Accept-Encoding: gzip');
	return worker;
}

async function postgres(folder: string): Promise<number> {
	const pid = await postgresServer(folder, PORT + 2);
	const pgbench = [...AS_POSTGRES, `${POSTGRES}/pgbench`, '-h', folder, '-p', `${PORT + 2}`];
	done([...pgbench, '-i', '-q', '-s', '5', 'postgres'], folder);
	begin([...pgbench, '-c', '3', '-T', '600', 'postgres'], folder);
	return childOf(pid, /^postgres: postgres postgres/);
}

async function mariadb(folder: string): Promise<number> {
	const data = [`--datadir=${folder}/data`, '--user=mysql'];
	done(['chmod', '755', folder], folder);
	done(['chown', 'mysql', folder], folder);
	const login = '--auth-root-authentication-method=normal';
	done(['mariadb-install-db', '--no-defaults', ...data, login], folder);
	const socket = `${folder}/socket`;
	const files = [`--socket=${socket}`, `--pid-file=${folder}/pid`, `--port=${PORT + 3}`];
	const pid = begin(['mariadbd', '--no-defaults', ...data, ...files], folder);
	await until(['mariadb', '-u', 'root', '-S', socket, '-e', 'create database sbtest'], folder);
	const tables = ['--tables=2', '--table-size=20000', '--threads=4', '--time=600'];
	const where = [`--mysql-socket=${socket}`, '--mysql-user=root'];
	done(['sysbench', 'oltp_read_write', ...where, ...tables, 'prepare'], folder);
	begin(['sysbench', 'oltp_read_write', ...where, ...tables, 'run'], folder);
	return pid;
}

async function java(folder: string): Promise<number> {
	done(['javac', written(folder, 'Load.java', JAVA)], folder);
	return begin(['java', '-Xmx200m', 'Load'], folder);
}

async function go(folder: string): Promise<number> {
	const build = ['env', `GOCACHE=${folder}/cache`, 'GOFLAGS=-mod=mod', 'go', 'build', '-o', 'load'];
	done([...build, written(folder, 'load.go', GO)], folder);
	return begin(['./load'], folder);
}

async function caddy(folder: string): Promise<number> {
	const port = PORT + 4;
	written(folder, 't', TEXT.repeat(200));
	const pid = begin(['caddy', 'file-server', '--listen', `127.0.0.1:${port}`], folder);
	await until(['ab', '-n', '1', `http://127.0.0.1:${port}/t`], folder);
	ab(port, folder);
	return pid;
}

/** A thread of the JVM itself: collectors, compilers, the VM's own, and the one that began it. */
const isNative = ({ comm }: Thread) =>
	/^(GC Thread|G1 |C[12] Comp|VM |Sweeper|Monitor Def|Service Thr|java$)/.test(comm);

/** The main thread; others are libuv's and V8's. */
const runsJavaScript = ({ tid }: Thread, pid: number) => tid === pid;

const not = (is: (thread: Thread, pid: number) => boolean) => (thread: Thread, pid: number) =>
	!is(thread, pid);

export const PROGRAMS: readonly Program[] = [
	{ name: 'redis-server, every write synced', start: redis },
	{ name: 'nginx, gzip', start: nginx },
	{
		name: 'python3, threads at a lock',
		start: async (folder) => begin(['/usr/bin/python3', '-c', PYTHON], folder),
	},
	{ name: 'postgresql 15, pgbench: one backend', start: postgres },
	{ name: 'mariadb 10.11, sysbench', start: mariadb },
	{
		name: 'bash, child processes',
		start: async (folder) => begin(['/bin/bash', '-c', BASH], folder),
	},
	{
		name: 'node 20',
		start: async (folder) => begin(['/usr/bin/node', '-e', NODE], folder),
		keepsFramePointers: true,
		groups: { 'the JavaScript thread': runsJavaScript, 'other threads': not(runsJavaScript) },
	},
	{
		name: 'java 17',
		start: java,
		groups: { 'native threads': isNative, 'Java threads': not(isNative) },
	},
	{
		name: 'Rust: ripgrep, two threads',
		start: async (folder) =>
			begin(['rg', '-j2', '-c', '-uu', '(a|e)[a-z]+tion\\w*x', ...Array(50).fill('/usr')], folder),
	},
	{ name: "Go: a program of `go build`'s", start: go, noHeap: true },
	{ name: 'Go: caddy, a file server', start: caddy, noHeap: true, noTables: true },
];

/** Whose stacks are compared with a debugger's, too. */
export const MORE_PROGRAMS: readonly Program[] = [
	{
		name: 'perl, sorting',
		start: async (folder) => begin(['/usr/bin/perl', '-e', PERL], folder),
	},
	{
		name: 'gdb, reading symbols',
		start: async (folder) => begin(['gdb', '-nx', '-batch', '-ex', GDB, '/usr/bin/gdb'], folder),
	},
];
