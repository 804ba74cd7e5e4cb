import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Notice, noticeText } from '../../../src/symbolize/notices.js';

const FILE = {
	kind: 'symbols-missing',
	path: '/usr/bin/app',
	share: 0.5,
	debuginfod: 'on',
} as const;

const TEXTS: [Notice, RegExp][] = [
	[{ kind: 'kernel-symbols-hidden' }, /kernel\.kptr_restrict.*CAP_SYSLOG/],
	[
		{ kind: 'perf-map-missing', runtime: 'node', pid: 7, comm: 'api', share: 0.25 },
		/^api \(7\).*25%.*node --perf-basic-prof/,
	],
	[
		{ kind: 'perf-map-missing', runtime: 'jvm', pid: 7, comm: 'java', share: 0.001 },
		/<1%.*-XX:\+PreserveFramePointer.*jcmd 7 Compiler\.perfmap/,
	],
	[
		{ kind: 'perf-map-missing', runtime: 'python', pid: 7, comm: 'python3', share: 1 },
		/python3 -X perf, or with PYTHONPERFSUPPORT=1/,
	],
	[
		{ kind: 'perf-map-missing', runtime: 'python before 3.12', pid: 7, comm: 'python3', share: 1 },
		/Python 3\.12 or newer and -X perf: this version cannot tell tstrace its functions/,
	],
	[
		{ kind: 'perf-map-incomplete', runtime: 'jvm', pid: 7, comm: 'java', share: 0.12 },
		/^java \(7\).*\[jit\].*12%.*jcmd 7 Compiler\.perfmap again/,
	],
	[
		{ kind: 'perf-map-incomplete', runtime: undefined, pid: 7, comm: 'vm', share: 0.12 },
		/have it write its perf map again/,
	],
	[
		{
			kind: 'runtime-unknown',
			runtime: 'v8',
			version: '12.9.202',
			problem: 'version',
			pid: 7,
			comm: 'api',
			share: 0.5,
		},
		/^api \(7\).*50%.*names of Node\.js 20, 22, 24, 25 and 26, and this has V8 12\.9\.202\. To see them, .*--perf-basic-prof/,
	],
	[
		{
			kind: 'runtime-unknown',
			runtime: 'v8',
			version: '11.3.244',
			problem: 'symbols',
			pid: 7,
			comm: 'api',
			share: 0.5,
		},
		/the symbols that tell where V8 11\.3\.244 has them are stripped\. To see them, /,
	],
	[
		{
			kind: 'runtime-unknown',
			runtime: 'v8',
			version: '13.6.233',
			problem: 'count',
			pid: 7,
			comm: 'api',
			share: 0.5,
		},
		/names, in 50%.*: tstrace reads those of 16 programs with V8 or Python in them, and this is one more\. To see them, /,
	],
	[
		{
			kind: 'runtime-unknown',
			runtime: 'python',
			version: '3.15.0',
			problem: 'version',
			pid: 7,
			comm: 'api',
			share: 0.5,
		},
		/names of Python 3\.9 to 3\.14, and this is Python 3\.15\.0\. Python 3\.12 and newer .* -X perf\.$/,
	],
	[
		{
			kind: 'runtime-unknown',
			runtime: 'python',
			version: '3.13.1',
			problem: 'free-threaded',
			pid: 7,
			comm: 'api',
			share: 0.5,
		},
		/does not read those of Python 3\.13\.1 without the GIL\. /,
	],
	[
		{ kind: 'functions-unread', language: 'Python', pid: 7, comm: 'api', share: 0.02 },
		/^api \(7\) has Python functions without names/,
	],
	[
		{ kind: 'functions-unread', language: 'JavaScript', pid: 7, comm: 'api', share: 0.02 },
		/^api \(7\) has JavaScript functions without names, in 2%.*memory had changed/,
	],
	[{ kind: 'perf-map-cut', pid: 7, comm: 'java' }, /read only a part/],
	[
		{ ...FILE, reason: 'stripped', buildId: 'abcd', install: 'apt-get install app-dbgsym' },
		/50%.*build-id abcd.*: apt-get install app-dbgsym\.$/,
	],
	[
		{
			...FILE,
			reason: 'stripped',
			buildId: 'abcd',
			install: 'apt-get install app-dbgsym',
			debuginfod: 'unset',
		},
		/To get them: apt-get install app-dbgsym, or set DEBUGINFOD_URLS\.$/,
	],
	[
		{ ...FILE, reason: 'stripped', buildId: 'abcd', install: undefined, debuginfod: 'unset' },
		/build-id abcd.*To get them: install its debug symbols, or set DEBUGINFOD_URLS\.$/,
	],
	[
		{ ...FILE, reason: 'stripped', buildId: 'abcd', install: undefined, debuginfod: 'off' },
		/install its debug symbols, or leave out --no-debuginfod\.$/,
	],
	// Nobody serves what has no build-id.
	[
		{ ...FILE, reason: 'stripped', buildId: undefined, install: undefined, debuginfod: 'unset' },
		/To get them: install its debug symbols\.$/,
	],
	[
		{ kind: 'symbols-fetched', paths: ['/bin/a', '/lib/b.so'], bytes: 2 ** 21, hosts: ['s:1'] },
		/^tstrace fetched the symbols of a, b\.so \(2\.00 MiB\) from s:1\.$/,
	],
	[
		{
			kind: 'symbols-not-fetched',
			paths: ['/a', '/b', '/c', '/d', '/e'],
			why: 'no server has it',
		},
		/symbols of a, b, c and 2 other files: no server has it\.$/,
	],
	[{ kind: 'server-unusable', what: 'ftp://x: not an http or https URL' }, /DEBUGINFOD_URLS: ftp/],
	[{ ...FILE, reason: 'stripped', buildId: undefined, install: undefined }, /no symbols/],
	[
		{ ...FILE, reason: 'unreadable', buildId: undefined, install: undefined },
		/tstrace cannot read the file/,
	],
	[
		{ kind: 'perf-map-incomplete', runtime: 'node', pid: 7, comm: 'api', share: 0.005 },
		/^api \(7\).*<1%.*node --perf-basic-prof/,
	],
	[
		{ kind: 'perf-map-incomplete', runtime: 'python', pid: 7, comm: 'x', share: 0 },
		/in 0% of.* python3 -X perf, or with PYTHONPERFSUPPORT=1/,
	],
	[
		{ kind: 'symbols-fetched', paths: ['/a', '/b', '/c', '/d'], bytes: 1, hosts: ['s', 't'] },
		/symbols of a, b, c, d \(1 B\) from s, t\.$/,
	],
	[
		{ kind: 'mount-silent', folder: '/mnt/nfs', type: 'nfs4' },
		/^\/mnt\/nfs \(nfs4\) does not answer, .*reads no files there/,
	],
	[
		{ kind: 'memory-silent', pid: 7, comm: 'nfsd-client' },
		/^nfsd-client \(7\) did not let tstrace read its memory within 500 ms/,
	],
	[
		{ ...FILE, share: 0.996, reason: 'unreadable', buildId: undefined, install: undefined },
		/in 100% of/,
	],
	[{ kind: 'out-of-time' }, /too long/],
	[{ kind: 'records-dropped', count: 5 }, /dropped 5 records/],
];

test('each is one line of two sentences at most', () => {
	for (const [notice, expected] of TEXTS) {
		const text = noticeText(notice);
		assert.match(text, expected);
		assert.match(text, /\.$|\)$/);
		assert.doesNotMatch(text, /\n/);
		assert.ok(text.split(/[.:] [A-Z]/).length <= 3, text);
	}
});
