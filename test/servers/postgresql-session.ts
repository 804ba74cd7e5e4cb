/** Clients of a PostgreSQL that tests ask, statement by statement. */
import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { AS_POSTGRES, POSTGRES } from '../../bench/shared/servers.js';
import { until } from '../live/support.js';

/** Only a part of the socket's name. */
export const PORT = 17_902;

const ANSWERED = 'answered';

/** A client, and its backend. */
export class Session {
	readonly #client: ChildProcessWithoutNullStreams;
	readonly #lines: string[] = [];
	#answers = 0;
	#said = '';
	pid = '';

	private constructor(folder: string) {
		const [file = '', ...words] = [...AS_POSTGRES, `${POSTGRES}/psql`, '-X', '-q', '-A', '-t'];
		this.#client = spawn(file, [...words, '-h', folder, '-p', `${PORT}`, 'postgres']);
		createInterface({ input: this.#client.stdout }).on('line', (line) => {
			if (line === ANSWERED) this.#answers++;
			else this.#lines.push(line);
		});
		this.#client.stderr.on('data', (data) => {
			this.#said += data;
		});
	}

	/** At the server of a folder. */
	static async begin(folder: string): Promise<Session> {
		const session = new Session(folder);
		session.pid = (await session.ask('select pg_backend_pid();')) ?? '';
		return session;
	}

	/** The last line of the answer. */
	async ask(statements: string): Promise<string | undefined> {
		const answers = this.#answers + 1;
		this.#client.stdin.write(`${statements}\n\\echo ${ANSWERED}\n`);
		await until(
			() => this.#answers >= answers,
			() => this.#said,
		);
		assert.equal(this.#said, '');
		return this.#lines.at(-1);
	}

	async end(): Promise<void> {
		if (this.#client.exitCode !== null) return;
		this.#client.stdin.end();
		await once(this.#client, 'close');
	}
}
