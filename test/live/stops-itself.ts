/** For node's --import, into tstrace: it stops itself once it has said $STOPS_AFTER on stderr. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const STDERR = 2;
const last = process.env.STOPS_AFTER ?? '';

fs.writeSync = new Proxy(fs.writeSync, {
	apply(writeSync, self, args: [fd: number, text: unknown]) {
		const written = Reflect.apply(writeSync, self, args);
		if (args[0] === STDERR && String(args[1]).includes(last)) process.kill(process.pid, 'SIGSTOP');
		return written;
	},
});
syncBuiltinESMExports();
