/** `make texts` leaves nothing out: of each kind it prints as many as a search finds. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loss } from '../../src/generated/common.js';

interface Text {
	readonly kind: string;
	readonly place: string;
	readonly text: string;
}

function printed(): Text[] {
	const { status, stdout, stderr } = spawnSync('node', ['scripts/texts.mjs', '--code'], {
		encoding: 'utf8',
	});
	assert.equal(status, 0, stderr);
	const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('# '));
	return lines.map((line) => {
		const [kind = '', place = '', text = '', ...more] = line.split('\t');
		assert.deepEqual(more, [], line);
		return { kind, place, text };
	});
}

/** The code, without comments. */
function sources(): Map<string, string> {
	const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
		.map((name) => join('src', name))
		.filter((path) => /\.ts$/.test(path) && !/\.d\.ts$|^src\/generated\//.test(path));
	const bare = (text: string) => text.replace(/^[ \t]*(\/\*\*?|\*|\/\/).*$/gm, '');
	return new Map(files.map((path) => [path, bare(readFileSync(path, 'utf8'))]));
}

function found(pattern: RegExp): string[] {
	return [...sources().values()].flatMap((text) => [...text.matchAll(pattern)].map(([all]) => all));
}

const texts = printed();
const ofKind = (kind: string) => texts.filter((text) => text.kind === kind);

test('errors: as many of each class as are made in the code', () => {
	const made = found(/(?<=new )\w*Error(?=\()/g);
	const classes = new Set(made);
	for (const name of ['UsageError', 'TstraceError', 'InvalidArgumentError']) {
		assert.ok(classes.has(name), name);
	}
	for (const name of classes) {
		const count = made.filter((each) => each === name).length;
		assert.equal(ofKind(`error ${name}`).length, count, name);
	}
	const kinds = new Set(texts.map(({ kind }) => kind).filter((kind) => kind.startsWith('error ')));
	assert.equal(kinds.size, classes.size);
});

test('notices: each call that says something, at its place', () => {
	const places = new Set(ofKind('notice').map(({ place }) => place));
	// What is defined has its parameter's type behind its name.
	const call = /(?<![\w])#?(?:(?:say|sayIfRoom|note|notify|tell)\((?!\w+: )|notices\.push\()/g;
	let calls = 0;
	for (const [path, text] of sources()) {
		for (const { index } of text.matchAll(call)) {
			const place = `${path}:${text.slice(0, index).split('\n').length}`;
			assert.ok(places.has(place), place);
			calls++;
		}
	}
	assert.ok(calls > 20);
});

test('losses: all causes, with their words', () => {
	const inKernel = Object.keys(loss).filter((cause) => cause !== 'LOSS_CAUSES');
	const here = /LOST_HERE = \{(.*?)\}/s.exec(sources().get('src/bpf/loss.ts') ?? '')?.[1] ?? '';
	const words = here.match(/^\t\w+:\s+'/gm) ?? [];
	assert.ok(words.length > 0);
	assert.equal(ofKind('loss').length, inKernel.length + words.length);
});

test('help: every description of an option, and of a command', () => {
	const declared = texts.filter(({ kind }) => kind === 'help').map(({ text }) => text);
	for (const says of [
		'only these threads',
		'histogram for each thread',
		'how long each thread runs, and waits for a CPU',
		'with --slower, 5: trace for 5 seconds',
	]) {
		assert.ok(
			declared.some((text) => text.includes(says)),
			says,
		);
	}
});

test('texts that are put together are one line, with what is not known as …', () => {
	const all = texts.map(({ text }) => text);
	assert.ok(all.includes('cannot write to …: …'));
	assert.ok(all.includes('--slower shows single waits; leave out --…'));
	for (const { place } of texts) assert.match(place, /^src\/[\w/.-]+\.ts:\d+$/);
});

test('words of the doctor, the pages, and what texts are in no call', () => {
	for (const [kind, least] of [
		['doctor', 100],
		['page', 10],
		['other', 200],
	] as const) {
		assert.ok(ofKind(kind).length >= least, kind);
	}
	// An advice out of a table.
	assert.ok(ofKind('other').some(({ text }) => text.startsWith('the disk is full; free some')));
});
