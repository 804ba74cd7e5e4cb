/** For node's --import, into tstrace: it stops itself, once, when it has said $STOPS_AFTER on stderr. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const STDERR = 2;
const last = process.env.STOPS_AFTER;
if (!last) throw new Error('STOPS_AFTER is not set');
let stopped = false;

fs.writeSync = new Proxy(fs.writeSync, {
	apply(writeSync, self, args: [fd: number, text: unknown]) {
		const written = Reflect.apply(writeSync, self, args);
		if (!stopped && args[0] === STDERR && String(args[1]).includes(last)) {
			stopped = true;
			process.kill(process.pid, 'SIGSTOP');
		}
		return written;
	},
});
syncBuiltinESMExports();
