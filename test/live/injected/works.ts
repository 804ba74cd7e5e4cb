/** For node's --import, into tstrace: it takes a fifth of a CPU for itself, on whatever machine. */
const PERIOD_MS = 100;
const WORK_MS = 20;

setInterval(() => {
	const end_ms = performance.now() + WORK_MS;
	while (performance.now() < end_ms);
}, PERIOD_MS).unref();
