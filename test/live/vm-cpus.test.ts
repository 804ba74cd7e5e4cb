/** A CPU that is taken off-line and on-line while tools trace. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { once, TOOLS_OF_STORM, untilNothingLeft } from './faults.js';
import { kernelObjects } from './kernel-objects.js';
import { testInVm } from './only-in-vm.js';
import { reportsOf, sawSomething } from './reports.js';
import { Tracing, until, Workload } from './support.js';
import { switches } from './times.js';

const CPU = '/sys/devices/system/cpu/cpu1/online';
const isOnline = () => readFileSync(CPU, 'utf8').trim() === '1';

function setOnline(online: boolean): void {
	writeFileSync(CPU, online ? '1' : '0');
	assert.equal(isOnline(), online);
}

/** Lets it make more switches. */
async function work(pid: number): Promise<void> {
	const before = switches(pid);
	await until(() => switches(pid) > before + 100);
}

/** A report, with something of the storm. */
function assertSeen(tool: string, stdout: string): void {
	assert.equal(reportsOf(stdout)[0]?.tool, tool);
	assert.ok(sawSomething(stdout), stdout);
}

for (const [tool = '', ...options] of TOOLS_OF_STORM) {
	testInVm(`${tool}: a CPU goes and comes while it traces`, async () => {
		const before = kernelObjects();
		const storm = await Workload.start('storm');
		storm.begin();
		try {
			const tracing = await Tracing.start([tool, ...options, '--json', '-p', `${storm.pid}`]);
			for (const online of [false, true, false, true]) {
				setOnline(online);
				await work(storm.pid);
			}
			const { status, stdout, stderr } = await tracing.end('SIGINT');
			assert.equal(status, 0, stderr);
			assertSeen(tool, stdout);
			await work(storm.pid);
		} finally {
			if (!isOnline()) setOnline(true);
			await storm.end();
		}
		await untilNothingLeft(before);
	});

	testInVm(`${tool}: begins while a CPU is off-line`, async () => {
		const before = kernelObjects();
		const storm = await Workload.start('storm');
		storm.begin();
		try {
			setOnline(false);
			const args = [tool, ...options, '--json', '-p', `${storm.pid}`, '0.5', ...once(tool)];
			const tracing = await Tracing.start(args);
			setOnline(true);
			const { status, stdout, stderr } = await tracing.end();
			assert.equal(status, 0, stderr);
			assertSeen(tool, stdout);
		} finally {
			if (!isOnline()) setOnline(true);
			await storm.end();
		}
		await untilNothingLeft(before);
	});
}
