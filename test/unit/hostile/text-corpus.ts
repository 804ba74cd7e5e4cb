/** Texts, profiles and type information that were made to do harm; and such as they should be. */
import { gzipSync } from 'node:zlib';
import { renderPprof } from '../../../src/render/pprof.js';
import { renderSpeedscope } from '../../../src/render/speedscope.js';
import { bytesOf } from '../input/formats.js';
import { fromFolded } from '../profiles.js';

const MIB = 2 ** 20;

const MAPS = `555500001000-555500002000 r-xp 00002000 fe:00 260386          /usr/bin/a
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f0000002000-7f0000003000 r-xp 00001000 103:0a 12 /tmp/my lib.so (deleted)
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                  [vdso]
`;
const KALLSYMS = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000200 T __x64_sys_read
ffffffffc0001000 t ext4_read	[ext4]
`;
const PERF_MAP = '1000 100 LazyCompile:*f /a b.js:1:2\n0x2000 0x10 Java_foo\n1080 10 later\n';
const FOLDED = 'sh;main;read_[k] 5\nsh;main;jit_[j];in_[i] 7\nsh 1\n';
const PERF_SCRIPT = `# cmdline : /usr/bin/perf record -g
sh 12/34 [001] 100.000001:     250000 cpu-clock:pppH:
\tffffffff81000000 do_idle+0x1f ([kernel.kallsyms])
\t    555500001234 main+0x10 (/usr/bin/a)
\t    7f0000001234 [unknown] (/tmp/perf-12.map)

sh 12/34 [001] 100.000002:     250000 cpu-clock:pppH:
\t    555500001234 main+0x10 (inlined)

`;

export async function validTexts(): Promise<Record<string, Buffer>> {
	const { profile } = await fromFolded(FOLDED);
	const pprof = await bytesOf(renderPprof(profile));
	const result = {
		tool: 'profile',
		command: ['a'],
		unit: 'samples',
		stacks: [{ frames: ['a', 'b'], kinds: 'uk', value: 5, key: { comm: 'sh' } }],
	};
	const texts = {
		maps: MAPS,
		kallsyms: KALLSYMS,
		'perf map': PERF_MAP,
		folded: FOLDED,
		'perf script': PERF_SCRIPT,
		result: `${JSON.stringify(result)}\n`,
	};
	return {
		...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)])),
		pprof,
		speedscope: await bytesOf(renderSpeedscope(profile)),
		btf: btfOf([
			btfStruct(1, 2, [
				[5, 1, 0],
				[0, 2, 32],
			]),
		]),
	};
}

/** A string between what begins and ends it, as long as it takes. */
const filled = (begin: string, filling: string, bytes: number, end: string): Buffer =>
	Buffer.concat([Buffer.from(begin), Buffer.alloc(bytes, filling), Buffer.from(end)]);

/** So many MiB, packed as files in a row: the same packed MiB again and again. */
function gzipOf(begin: string, filling: string, mebibytes: number): Buffer {
	const one = gzipSync(Buffer.alloc(MIB, filling));
	return Buffer.concat([gzipSync(Buffer.from(begin)), ...Array<Buffer>(mebibytes).fill(one)]);
}

const lines = (count: number, line: (i: number) => string): Buffer =>
	Buffer.from(Array.from({ length: count }, (_, i) => `${line(i)}\n`).join(''));

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const speedscope = (fields: string): Buffer =>
	Buffer.from(
		`{"shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"sampled","samples":[[0]],"weights":[1],${fields}}]}`,
	);

export const TEXTS: Readonly<Record<string, () => Buffer>> = {
	'a perf map of huge ranges': () =>
		lines(50_000, (i) => `${(i * 4096).toString(16)} ffffffffffffffff all`),
	'a perf map of negative ranges': () => lines(1000, (i) => `-${i} -10 negative`),
	'a perf map of ranges that overlap': () => lines(60_000, () => '1000 3000000 over'),
	'a perf map with lines of a megabyte': () =>
		Buffer.concat(Array.from({ length: 16 }, () => filled('1000 10 ', 'n', MIB, '\n'))),
	'a perf map of control characters': () =>
		Buffer.from('1000 10 \u001b[31m\u202e\0\r\u2028\n1000 10 \u009b2J\n'),
	'binary garbage': () => {
		const bytes = Buffer.alloc(MIB);
		for (let i = 0, x = 1; i < MIB; i++) {
			x = (Math.imul(x, 1_103_515_245) + 12_345) >>> 0;
			bytes[i] = x >>> 16;
		}
		return bytes;
	},
	NULs: () => Buffer.alloc(MIB),
	newlines: () => Buffer.alloc(MIB, '\n'),
	blanks: () => Buffer.alloc(MIB, ' '),
	digits: () => Buffer.alloc(MIB, '9'),
	'kallsyms of garbage': () =>
		lines(20_000, (i) => `${'fffffffg'.repeat(2)} T x\nffffffff8${i} T\n T \nffffffffffffffff T a`),
	'kallsyms with lines of a megabyte': () =>
		Buffer.concat(Array.from({ length: 8 }, () => filled('ffffffff81000000 T ', 'n', MIB, '\n'))),
	'kallsyms of control characters': () =>
		Buffer.from('ffffffff81000000 T \u001b[31m\u202e\r\u2028x\t[\u009b]\n'),
	'maps with strange paths': () =>
		Buffer.from(
			[
				...[
					'\u2028/a\u2029',
					'/a\rb',
					'/\u001b[31m',
					'//deleted (deleted) (deleted)',
					' (deleted)',
				],
				...['/../../etc/passwd', `/${'a'.repeat(100_000)}`, '/\\012', '\udfff', '[vdso', '/\0/a'],
			]
				.map((path, i) => `${i + 1}000-${i + 1}800 r-xp 00000000 fe:00 ${i} ${path}\n`)
				.join(''),
		),
	'maps of absurd ranges': () =>
		Buffer.from(
			'ffffffffffffffff-0 r-xp ffffffffffffffff ffffffff:ffffffff 9999999999999999 /a\n' +
				'0-ffffffffffffffff r-xp 0 0:0 0 /a\n0-0 r-xp 0 0:0 0\n',
		),
	'a maps line of blanks': () => filled('1000-2000 r-xp 0 0:0 1', ' ', MIB, '/a'),
	'a folded stack that is too deep': () => filled('a', ';a', 200_000, ' 1\n'),
	'folded stacks as deep as may be': () =>
		Buffer.concat(Array.from({ length: 20 }, () => filled('a', ';a', 131_000, ' 1\n'))),
	'folded stacks with NULs': () => Buffer.from('a\0b;\0 1\n\0;\0;\0 2\n'),
	'folded stacks with huge numbers': () =>
		Buffer.from(
			[`a ${'9'.repeat(400)}`, 'a 1e400', 'a -1', 'a 0x10', `a 0.${'0'.repeat(400)}1`].join('\n'),
		),
	'folded stacks of blanks and numbers': () => lines(2000, () => '1 '.repeat(500)),
	'folded stacks that are all different': () =>
		lines(60_000, (i) => `name_${i};other_${i * 7};third ${i}`),
	'perf script whose header could be read in many ways': () =>
		lines(400, () => `${'1 '.repeat(250)}x\n\t1 a (b)\n`),
	'perf script whose header has blanks only': () =>
		lines(400, () => `a${' '.repeat(500)}1\n\t1 a (b)\n`),
	'perf script of headers that could be more than one': () =>
		lines(400, () => `a ${'1/1 [1] '.repeat(60)}1.1: :\n\t1 a (b)\n`),
	'perf script with colons only': () => lines(400, () => `a 1 1.1: ${':'.repeat(600)}`),
	'perf script of arrows': () =>
		lines(100, () => `a 1 1.1: 1 cycles:\n\t1 ${'->'.repeat(30_000)} (b)\n`),
	'perf script of brackets': () =>
		lines(100, () => `a 1 1.1: 1 cycles:\n\t1 ${'('.repeat(30_000)} ${')'.repeat(30_000)}\n`),
	'perf script of a stack that never ends': () =>
		Buffer.concat([Buffer.from('a 1 1.1: 1 cycles:\n'), Buffer.alloc(2 * MIB, '\t1 f (m)\n')]),
	'perf script of many events': () => lines(20_000, (i) => `a 1 1.1: 1 event${i}:\n\t1 a (b)\n`),
	'JSON that is nested as deeply as it gets': () => Buffer.from(nested(2 * MIB)),
	'a unit that is nested deeply': () => speedscope(`"unit":${nested(200_000)}`),
	'a name that is nested deeply': () => speedscope(`"name":${nested(200_000)}`),
	'a result whose frame is nested deeply': () =>
		Buffer.from(`{"stacks":[{"frames":[${nested(200_000)}],"value":1}]}\n`),
	'a result whose filters are nested deeply': () =>
		Buffer.from(`{"filters":{"a":${nested(200_000)}},"stacks":[{"frames":["a"],"value":1}]}\n`),
	'a result with the names of what objects inherit': () =>
		Buffer.from(
			'{"__proto__":{"stacks":1},"tool":"__proto__","stacks":[{"frames":["__proto__","constructor"],' +
				'"value":1,"key":{"__proto__":"x","toString":"y"}}],"filters":{"__proto__":null}}\n',
		),
	'JSON of objects only': () => filled('{"profiles":[', '{},', 12 * MIB, '{}]}'),
	'gzip of gzip': () => gzipSync(gzipSync(Buffer.from(FOLDED))),
	'gzip that was cut off': () => gzipSync(Buffer.from(FOLDED)).subarray(0, 30),
	'gzip of a line of 100 MiB': () => gzipOf('', 'a', 100),
	'gzip of 2 MiB of newlines': () => gzipSync(Buffer.alloc(2 * MIB, '\n'), { level: 1 }),
	'gzip of 300 MiB like pprof': () => gzipOf('\n\x04\x08\x01\x10\x02', '2\0', 300),
	'pprof whose strings are too many': () => filled('\n\x04\x08\x01\x10\x02', '2\0', 8 * MIB, ''),
	'pprof of a field that is 2^63 long': () =>
		Buffer.from('0a04080110021affffffffffffffff7f00', 'hex'),
	'BTF of an unnamed struct that is its own part, many times': () =>
		btfOf([btfStruct(1, 0, [[0, 2, 0]]), btfStruct(0, 0, Array(60).fill([0, 2, 0]))]),
	'BTF of a type of itself': () => btfOf([[1, 8 << 24, 1], btfStruct(1, 4, [[5, 1, 0]])]),
	'BTF of arrays of arrays of 2^32': () =>
		btfOf([[0, 3 << 24, 0, 1, 1, 0xffffffff], btfStruct(1, 4, [[5, 1, 0]])]),
	'BTF with more members than bytes': () => btfOf([[1, (4 << 24) | 0xffff, 4]]),
	'BTF with types that there are none of': () => btfOf([btfStruct(1, 4, [[5, 0xffffffff, 0]])]),
	'BTF with names outside': () => btfOf([btfStruct(1, 4, [[0xffffffff, 1, 0]])]),
	'BTF of unknown kinds': () => btfOf([[0, 31 << 24, 0]]),
	'BTF whose header lies': () => {
		const bytes = btfOf([]);
		bytes.writeUInt32LE(0xffffffff, 12);
		return bytes;
	},
	'BTF of 65,535 members with names of megabytes': () =>
		btfOf([btfStruct(1, 4, Array(65_535).fill([12, 1, 0]))], 24 * MIB),
};

type Member = readonly [name: number, type: number, bits: number];

/** A struct: "task" if its name is 1. */
function btfStruct(name: number, size: number, members: readonly Member[]): number[] {
	return [name, (4 << 24) | members.length, size, ...members.flat()];
}

/** Documentation/bpf/btf.rst; the names are "task" at 1, "pid" at 6, and a long one at 12. */
function btfOf(types: readonly (readonly number[])[], nameBytes = 10): Buffer {
	const words = Buffer.from(Uint32Array.from(types.flat()).buffer);
	const strings = filled('\0task\0pid\0\0\0', 'n', nameBytes, '\0');
	const header = Buffer.alloc(24);
	header.writeUInt16LE(0xeb9f, 0);
	header.writeUInt8(1, 2);
	header.writeUInt32LE(24, 4);
	header.writeUInt32LE(words.length, 12);
	header.writeUInt32LE(words.length, 16);
	header.writeUInt32LE(strings.length, 20);
	return Buffer.concat([header, words, strings]);
}
