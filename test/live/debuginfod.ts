/** Programs without symbols, and Debian's server of symbols on the loopback, which has them in a package. */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask, createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryBytes } from '../../src/elf/bytes.js';
import { Elf } from '../../src/elf/elf.js';

const CONTROL = `Package: workloads-dbgsym
Version: 1
Architecture: all
Maintainer: tstrace <tstrace@example.org>
Description: symbols of the workloads
`;
/** It reads a package and answers in a second or two. */
const LIMIT_MS = 60_000;

/** Is there until the tests of the file are over. */
export function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-debuginfod-'));
	after(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

interface Stripped {
	readonly path: string;
	readonly buildId: string;
}

/** The workloads without their symbols, and a package as Debian makes it that has these. */
export function strippedWorkloads(
	folder: string,
	names: readonly string[],
): { programs: ReadonlyMap<string, Stripped>; packages: string } {
	const root = join(folder, 'package');
	const packages = join(folder, 'packages');
	mkdirSync(join(root, 'DEBIAN'), { recursive: true });
	mkdirSync(packages);
	writeFileSync(join(root, 'DEBIAN/control'), CONTROL);
	const programs = new Map<string, Stripped>();
	for (const name of names) {
		const built = resolve('build/workloads', name);
		const path = join(folder, name);
		const { buildId = '' } = new Elf(new MemoryBytes(readFileSync(built)));
		const debugFolder = join(root, 'usr/lib/debug/.build-id', buildId.slice(0, 2));
		mkdirSync(debugFolder, { recursive: true });
		const debug = join(debugFolder, `${buildId.slice(2)}.debug`);
		execFileSync('objcopy', ['--only-keep-debug', built, debug]);
		copyFileSync(built, path);
		execFileSync('strip', [path]);
		programs.set(name, { path, buildId });
	}
	execFileSync('dpkg-deb', ['--build', root, join(packages, 'workloads-dbgsym_1_all.deb')], {
		stdio: 'ignore',
	});
	return { programs, packages };
}

/** Serves the packages of a folder until the tests of the file are over; returns its URL. */
export async function debuginfod(packages: string, buildId: string): Promise<string> {
	const port = await freePort();
	const database = join(temporaryFolder(), 'database.sqlite');
	const args = ['-U', '-p', `${port}`, '-d', database, packages];
	const server = spawn('debuginfod', args, { stdio: ['ignore', 'ignore', 'pipe'] });
	let said = '';
	server.stderr.on('data', (data) => {
		said += data;
	});
	after(() => server.kill());
	const url = `http://127.0.0.1:${port}`;
	const began_ms = performance.now();
	for (;;) {
		const answer = await fetch(`${url}/buildid/${buildId}/debuginfo`).catch(() => undefined);
		await answer?.arrayBuffer();
		if (answer?.status === 200) return url;
		if (server.exitCode !== null || performance.now() - began_ms > LIMIT_MS)
			throw new Error(`debuginfod does not serve ${buildId}: ${said}`);
		await sleep(50);
	}
}

/** The same server by https, until the tests of the file are over; nobody knows its certificate. */
export async function secured(url: string): Promise<{ url: string; certificate: string }> {
	const folder = temporaryFolder();
	const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
	const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=tstrace-test'];
	const forHere = ['-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
	execFileSync('openssl', [...args, ...forHere, '-keyout', key, '-out', certificate], {
		stdio: 'ignore',
	});
	const identity = { key: readFileSync(key), cert: readFileSync(certificate) };
	const server = createSecureServer(identity, (incoming, outgoing) => {
		const { method, headers } = incoming;
		const onward = ask(new URL(incoming.url ?? '', url), { method, headers }, (answer) => {
			outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
			answer.pipe(outgoing);
		});
		onward.on('error', () => outgoing.destroy());
		onward.end();
	});
	await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
	after(() => {
		server.close();
		server.closeAllConnections();
	});
	return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, certificate };
}

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
	const { port } = server.address() as AddressInfo;
	await new Promise((closed) => server.close(closed));
	return port;
}
