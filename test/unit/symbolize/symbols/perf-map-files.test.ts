/** Which perf maps are believed. */
import assert from 'node:assert/strict';
import {
	chownSync,
	closeSync,
	readdirSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import { after, test } from 'node:test';
import {
	ownMountNamespace,
	type ProcessFacts,
	readFacts,
} from '../../../../src/proc/process-facts.js';
import { openPerfMap } from '../../../../src/symbolize/symbols/perf-map-files.js';

/** Above any process number: it has ended, and its files are where they were. */
const PID = 4_194_306 + process.pid;
const PATH = `/tmp/perf-${PID}.map`;
after(() => rmSync(PATH, { force: true }));

const [USER, OTHER] = [65_531, 65_532];
const STARTED_S = 1_700_000_000;
const FACTS: ProcessFacts = {
	uid: USER,
	nspid: PID,
	mountNamespace: ownMountNamespace(),
	comm: 'vm',
	started_s: STARTED_S,
	started_ticks: 1,
};

/** Whether a map is, that belongs to this user, and was last written so long after the process began. */
function isBelieved(owner: number, after_s: number, facts: Partial<ProcessFacts> = {}): boolean {
	writeFileSync(PATH, '1000 10 f\n');
	chownSync(PATH, owner, owner);
	utimesSync(PATH, STARTED_S + after_s, STARTED_S + after_s);
	const file = openPerfMap(PID, { ...FACTS, ...facts });
	if (file) closeSync(file.fd);
	return file !== undefined;
}

/** Only root can give a file to somebody else. */
const AS_ROOT = process.getuid?.() === 0 ? {} : { skip: 'needs root, to give files to others' };

test("its own user's, or root's; nobody else's", AS_ROOT, () => {
	assert.equal(isBelieved(USER, 10), true);
	assert.equal(isBelieved(0, 10), true);
	assert.equal(isBelieved(OTHER, 10), false);
});

test('one that was written since the process began, by clocks that are not exact', AS_ROOT, () => {
	assert.equal(isBelieved(USER, 0), true);
	assert.equal(isBelieved(USER, -1), true);
	assert.equal(isBelieved(USER, -3), false, "an earlier process's of that number");
});

test('where the process saw the same files, under the number that it had itself', AS_ROOT, () => {
	assert.equal(isBelieved(USER, 10, { mountNamespace: 'mnt:[1]' }), false);
	assert.equal(isBelieved(USER, 10, { nspid: PID + 1 }), false);
});

test('no link: it would lead to what another user chose', AS_ROOT, () => {
	rmSync(PATH);
	symlinkSync('/etc/hostname', PATH);
	assert.equal(openPerfMap(PID, { ...FACTS, uid: 0, started_s: 0 }), undefined);
});

test(
	'of a process that runs, where it sees it, whatever its namespace; not of one that has its number by now',
	AS_ROOT,
	(t) => {
		const own = readFacts(process.pid) ?? assert.fail();
		const descriptors = () => readdirSync('/proc/self/fd').length;
		const before = descriptors();
		const nspid = 4_194_305;
		const path = `/tmp/perf-${nspid}.map`;
		writeFileSync(path, '1000 10 f\n');
		t.after(() => rmSync(path));
		const elsewhere = { ...own, nspid, mountNamespace: 'mnt:[1]' };
		const isFound = (facts: ProcessFacts) => {
			const file = openPerfMap(process.pid, facts);
			if (file) closeSync(file.fd);
			return file !== undefined;
		};
		assert.equal(isFound(elsewhere), true);
		assert.equal(isFound({ ...elsewhere, nspid: nspid - 1 }), false);
		assert.equal(isFound({ ...elsewhere, started_ticks: own.started_ticks + 1 }), false);
		assert.equal(
			isFound({ ...own, nspid, started_ticks: own.started_ticks + 1 }),
			true,
			'where we see it',
		);
		chownSync(path, OTHER, OTHER);
		assert.equal(isFound({ ...elsewhere, uid: USER }), false);
		assert.equal(descriptors(), before);
	},
);
