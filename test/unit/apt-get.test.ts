/** `make test` installs what is missing: it waits for another apt. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

/** A lock as apt takes it, which is gone with its holder: fcntl's, of struct flock on 64-bit Linux. */
const HOLD =
	'use Fcntl; open(F, ">>", $ARGV[0]) or die $!;' +
	'my $lock = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0);' +
	'fcntl(F, F_SETLK, $lock) or die $!; $| = 1; print "held\\n"; <STDIN>;';

async function holding(file: string): Promise<ChildProcess> {
	const holder = spawn('perl', ['-e', HOLD, file], { stdio: ['pipe', 'pipe', 'inherit'] });
	await once(createInterface({ input: holder.stdout }), 'line');
	return holder;
}

/** An apt of its own, with one source that is an empty folder, so that the system's is left alone. */
function aptIn(folder: string): Readonly<Record<string, string>> {
	for (const part of ['lists/partial', 'archives/partial', 'source', 'etc'])
		mkdirSync(join(folder, part), { recursive: true });
	writeFileSync(join(folder, 'status'), '');
	writeFileSync(join(folder, 'source/Packages'), '');
	writeFileSync(
		join(folder, 'sources.list'),
		`deb [trusted=yes] copy:${join(folder, 'source')} ./\n`,
	);
	const config = join(folder, 'apt.conf');
	writeFileSync(
		config,
		[
			`Dir::State "${folder}";`,
			`Dir::State::status "${folder}/status";`,
			`Dir::Cache "${folder}";`,
			`Dir::Etc::sourcelist "${folder}/sources.list";`,
			'Dir::Etc::sourceparts "/dev/null";',
			'Dir::Etc::preferencesparts "/dev/null";',
			'APT::Sandbox::User "root";',
			'APT::Update::Post-Invoke-Success {};',
			'',
		].join('\n'),
	);
	return { ...process.env, APT_CONFIG: config } as Record<string, string>;
}

const LOCKS = [
	['lists/lock', ['update']],
	['lock-frontend', ['install', '-y']],
] as const;

const ON_DEBIAN = existsSync('/usr/bin/apt-get') ? {} : { skip: 'there is no apt' };

for (const [lock, words] of LOCKS) {
	test(
		`apt-get ${words[0]} waits for ${lock}, and goes on once it is free`,
		ON_DEBIAN,
		async () => {
			const folder = mkdtempSync(join(tmpdir(), 'tstrace-apt-'));
			try {
				const env = aptIn(folder);
				const holder = await holding(join(folder, lock));
				const child = spawn('scripts/apt-get.sh', ['-q', ...words], { env });
				let said = '';
				const waits = new Promise<void>((done) => {
					for (const stream of [child.stdout, child.stderr])
						stream.on('data', (data) => {
							said += data;
							if (/waiting for/i.test(said)) done();
						});
				});
				await Promise.race([waits, once(child, 'exit')]);
				assert.match(said, /waiting for/i);
				assert.equal(child.exitCode, null, said);
				holder.stdin?.end();
				const [status] = await once(child, 'exit');
				assert.equal(status, 0, said);
			} finally {
				rmSync(folder, { recursive: true });
			}
		},
	);

	test(`apt-get ${words[0]} does not wait for ${lock} for ever`, ON_DEBIAN, async () => {
		const folder = mkdtempSync(join(tmpdir(), 'tstrace-apt-'));
		const env = { ...aptIn(folder), APT_WAIT_S: '2' };
		const holder = await holding(join(folder, lock));
		try {
			const child = spawn('scripts/apt-get.sh', ['-q', ...words], { env });
			let said = '';
			child.stderr.on('data', (data) => {
				said += data;
			});
			const [status] = await once(child, 'close');
			assert.equal(status, 100);
			assert.match(said, /Could not get lock|Unable to acquire/);
		} finally {
			holder.stdin?.end();
			rmSync(folder, { recursive: true });
		}
	});
}

test('other errors are not waited for', ON_DEBIAN, async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-apt-'));
	try {
		const child = spawn('scripts/apt-get.sh', ['install', 'no-such-package'], {
			env: aptIn(folder),
		});
		let said = '';
		child.stderr.on('data', (data) => {
			said += data;
		});
		const [status] = await once(child, 'close');
		assert.equal(status, 100);
		assert.match(said, /Unable to locate package no-such-package/);
		assert.doesNotMatch(said, /waiting/);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('whatever calls apt-get here calls it that way', () => {
	const files = execFileSync('git', ['ls-files', 'scripts', 'test/vm'], { encoding: 'utf8' });
	for (const file of files
		.trim()
		.split('\n')
		.filter((each) => each !== 'scripts/apt-get.sh')) {
		const lines = readFileSync(resolve(file), 'utf8').split('\n');
		const calls = lines.filter(
			(line) =>
				/(^|[;&|(\s])apt-get (-|install|update|download)|'apt-get'/.test(line) &&
				!/echo|#/.test(line),
		);
		assert.deepEqual(calls, [], file);
	}
});
