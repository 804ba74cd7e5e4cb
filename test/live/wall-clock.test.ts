/** timehist --wall-clock: the time of day, wherever the user is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tracing, Workload } from './support.js';

const DAY_MS = 86_400_000;

/** The time of day there, by another reader of time zones: so many ms since midnight. */
function timeOfDay_ms(time_ms: number, timeZone: string): number {
	const parts = new Intl.DateTimeFormat('en-GB', {
		timeZone,
		hourCycle: 'h23',
		hour: '2-digit',
		minute: '2-digit',
		second: '2-digit',
		fractionalSecondDigits: 3,
	}).formatToParts(time_ms);
	const number = (type: string) => Number(parts.find((part) => part.type === type)?.value);
	const minutes = number('hour') * 60 + number('minute');
	return (minutes * 60 + number('second')) * 1000 + number('fractionalSecond');
}

/** East and west of Greenwich, by whole hours and not. */
for (const zone of ['UTC', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Kiritimati'])
	test(`in ${zone}`, async () => {
		const naps = await Workload.start('naps', '20', '1000', '1000');
		const args = ['timehist', '--wall-clock', '-t', `${naps.tid}`];
		const tracing = await Tracing.start(args, { TZ: zone });
		const begun_ms = Date.now();
		await naps.work();
		const { stdout, stderr, status } = await tracing.end('SIGINT');
		const ended_ms = Date.now();
		await naps.end();
		assert.equal(status, 0, stderr);
		const times = [...stdout.matchAll(/^ *(\d\d):(\d\d):(\d\d\.\d{6}) /gm)].map(
			([, hour, minute, second]) =>
				(Number(hour) * 3600 + Number(minute) * 60 + Number(second)) * 1000,
		);
		assert.ok(times.length >= 20, stdout.slice(0, 1000));
		// Clocks may be set a little meanwhile.
		const from_ms = timeOfDay_ms(begun_ms - 2, zone);
		for (const time_ms of times) {
			// Behind the beginning, by less than tracing took; midnight may be in between.
			const since_ms = (time_ms - from_ms + 2 * DAY_MS) % DAY_MS;
			assert.ok(
				since_ms <= ended_ms - begun_ms + 4,
				`${time_ms} ms of the day: ${since_ms} ms after`,
			);
		}
	});
