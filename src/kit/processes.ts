/** Keeps track of processes while stacks are captured, so that they have names at the end. */
import type { Lost } from '../aggregate/report.js';
import { Sideband } from '../perf/sideband.js';
import { ProcessHistory } from '../symbolize/processes.js';
import type { Subjects } from './tool.js';

/** /proc/PID/maps takes 0.1 ms or so; of every pause this long, a slice goes into reading them. */
const SLICE_MS = 5;
const PAUSE_MS = 20;

export class ProcessWatch {
	readonly history = new ProcessHistory();
	readonly #sideband = new Sideband();
	readonly #subjects: Subjects;
	#waiting: number[] = [];
	#timer: NodeJS.Timeout | undefined;

	constructor(subjects: Subjects) {
		this.#subjects = subjects;
	}

	/** Who is there already is read little by little, unless it is few who were chosen. */
	begin(): void {
		this.#sideband.start((record) => this.history.add(record));
		const { pids } = this.#subjects.filter;
		this.#waiting = pids.length > 0 ? [...pids] : ProcessHistory.pids();
		this.#slice();
	}

	/** Takes in what the kernel has told; called every second. */
	drain(): void {
		this.#sideband.refreshCpus();
		this.#sideband.drain();
	}

	/** Tracing ends: who still is to be read is read now. */
	end(pids: ReadonlySet<number>): void {
		clearTimeout(this.#timer);
		this.#sideband.drain();
		for (const pid of this.#waiting) {
			if (pids.has(pid)) this.history.snapshot(pid);
		}
		this.#waiting = [];
	}

	lost(): Lost {
		const lost = this.#sideband.lost();
		return lost > 0 ? { mappings_lost: lost } : {};
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#sideband.close();
		this.history.close();
	}

	#slice(): void {
		const until_ms = performance.now() + SLICE_MS;
		while (this.#waiting.length > 0 && performance.now() < until_ms) {
			this.history.snapshot(this.#waiting.pop() as number);
		}
		if (this.#waiting.length > 0) {
			this.#timer = setTimeout(() => this.#slice(), PAUSE_MS);
			this.#timer.unref();
		}
	}
}
