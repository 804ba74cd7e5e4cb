/** A worker thread that waits for ever. */
import { parentPort } from 'node:worker_threads';

const cell = new Int32Array(new SharedArrayBuffer(4));

function waitInThread() {
	Atomics.wait(cell, 0, 0);
}

parentPort.postMessage('ready');
setTimeout(waitInThread, 1);
