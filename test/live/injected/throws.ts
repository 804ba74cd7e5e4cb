/**
 * For node's --import, into tstrace: what runs outside its run loop fails, once. $THROWS_IN: part of a line of
 * the stack in which reading a clock or memory throws; $CLOSE_FAILS: of the file whose closing does.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { THROWS_IN, CLOSE_FAILS } = process.env;
let thrown = false;
Error.stackTraceLimit = 30;

/** The same function, that fails. */
function failing<F extends (...args: never[]) => unknown>(original: F): F {
	return new Proxy(original, {
		apply(target, self, args) {
			if (!thrown && THROWS_IN && new Error().stack?.includes(THROWS_IN)) {
				thrown = true;
				throw new Error('thrown by the test');
			}
			return Reflect.apply(target, self, args);
		},
	});
}

if (THROWS_IN) {
	Date.now = failing(Date.now);
	Atomics.load = failing(Atomics.load);
	process.hrtime.bigint = failing(process.hrtime.bigint);
}

if (CLOSE_FAILS) {
	fs.closeSync = new Proxy(fs.closeSync, {
		apply(closeSync, self, [fd]: [number]) {
			const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
			Reflect.apply(closeSync, self, [fd]);
			if (path.includes(CLOSE_FAILS)) throw Object.assign(new Error('thrown'), { code: 'EIO' });
		},
	});
	syncBuiltinESMExports();
}
