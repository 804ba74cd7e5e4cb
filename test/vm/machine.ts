/** Boots a machine under QEMU's software emulation, and reads what it has to tell. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { decode, type Line } from './lines.js';
import type { Machine } from './matrix.js';

export const MEMORY_MB = 2048;
const TYPES = {
	x64: { machine: ['-M', 'q35'], console: 'ttyS0' },
	arm64: { machine: ['-M', 'virt'], console: 'ttyAMA0' },
} as const;

interface Booted {
	readonly lines: readonly Line[];
	/** Why it is not complete; undefined: it is. */
	readonly incomplete: string | undefined;
	readonly seconds: number;
}

export async function boot(
	machine: Machine,
	files: { emulator: readonly string[]; kernel: string; initramfs: string; log: string },
	what: readonly string[],
	limits: { timeout_ms: number; onLine: (line: Line) => void },
): Promise<Booted> {
	const { machine: type, console } = TYPES[machine.arch];
	const [program = '', ...before] = files.emulator;
	const began = Date.now();
	// A kernel of many CPUs says more at its start than its log has room for: what it warns of later is to stay.
	const append = `console=${console} quiet loglevel=0 log_buf_len=4M panic=-1 tstrace=${what.join()}`;
	const emulator = spawn(
		program,
		[
			...before,
			...type,
			...[
				'-accel',
				'tcg,thread=single',
				'-cpu',
				machine.cpu,
				'-smp',
				`${machine.cpus}`,
				'-m',
				`${MEMORY_MB}`,
			],
			...['-nodefaults', '-display', 'none', '-no-reboot', '-serial', 'stdio'],
			...['-kernel', files.kernel, '-initrd', files.initramfs, '-append', append],
		],
		{ stdio: ['ignore', 'pipe', 'pipe'] },
	);
	let timedOut = false;
	const timer = setTimeout(() => {
		timedOut = true;
		emulator.kill('SIGKILL');
	}, limits.timeout_ms);
	const kill = () => emulator.kill('SIGKILL');
	process.once('exit', kill);
	const log = createWriteStream(files.log);
	emulator.stdout.pipe(log, { end: false });
	emulator.stderr.pipe(log, { end: false });
	const lines: Line[] = [];
	const read = createInterface({ input: emulator.stdout });
	read.on('line', (text) => {
		const line = decode(text);
		if (!line) return;
		lines.push(line);
		limits.onLine(line);
	});
	await once(emulator, 'close');
	clearTimeout(timer);
	process.off('exit', kill);
	log.end();
	const ended = lines.some(({ type }) => type === 'end');
	return {
		lines,
		incomplete: ended
			? undefined
			: timedOut
				? `not done after ${limits.timeout_ms / 1000} s`
				: `the machine ended early: ${files.log}`,
		seconds: (Date.now() - began) / 1000,
	};
}
