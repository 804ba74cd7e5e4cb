import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holding } from '../../../src/run/held-command.js';
import { parseStarted } from '../../../src/run/inherited.js';

test('what bin/tstrace notes is read', () => {
	const started = parseStarted(
		'files=1024 blocked=0000000000000800 ignored=0000000000001007 open=0,2,12,',
	);
	assert.equal(started.files, '1024');
	assert.deepEqual(started.blocked, [12]);
	assert.deepEqual(started.ignored, [1, 2, 3, 13]);
	assert.deepEqual([...(started.open ?? [])], [0, 2, 12]);
	assert.equal(parseStarted('files=unlimited open=0,').files, 'unlimited');
});

test('a SIGQUIT that only the shell ignores is not noted', () => {
	assert.deepEqual(parseStarted('ignored=0000000000000004').ignored, []);
	assert.deepEqual(parseStarted('ignored=0000000000000006').ignored, [2, 3]);
});

test('a file of certificates is noted whole, whatever its name', () => {
	const name = '/etc/a b/open=7,\n certificates=x.pem';
	const started = parseStarted(`files=1024 open=0, certificates=${name}`);
	assert.equal(started.certificates, name);
	assert.deepEqual([...(started.open ?? [])], [0]);
	assert.equal(parseStarted('files=1024 open=0,').certificates, undefined);
});

test('what nobody noted, or what is not a number, changes nothing', () => {
	for (const text of ['', 'files=$(reboot) blocked= ignored=zz', 'files=', ' open']) {
		const { files, ignored, blocked, open } = parseStarted(text);
		assert.deepEqual(
			{ files, ignored, blocked, open },
			{
				files: undefined,
				ignored: [],
				blocked: [],
				open: undefined,
			},
		);
		assert.equal(
			holding(3, parseStarted(text)),
			'read -r go <&3 || exit 125; exec 3<&-; exec "$@"',
		);
	}
	assert.deepEqual(parseStarted('open=').open, new Set());
});

test('COMMAND gets back what it would have had', () => {
	const started = parseStarted('files=512 ignored=0000000000000001 open=1,3,');
	assert.equal(
		holding(4, started),
		'read -r go <&4 || exit 125; ulimit -S -n 512; trap \'\' 1; exec 4<&- 0<&- 2<&-; exec "$@"',
	);
});

test('without PATH COMMAND is looked for, and looks, where the system has its programs', (t) => {
	const { PATH } = process.env;
	t.after(() => Object.assign(process.env, { PATH }));
	delete process.env.PATH;
	assert.match(holding(3, parseStarted('')), / PATH=\/usr\/bin:\/bin; exec /);
});
