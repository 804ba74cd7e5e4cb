/** A Go program that the build brings with it: static, stripped, of a recent Go. */
import { existsSync } from 'node:fs';

const path = `node_modules/@esbuild/linux-${process.arch}/bin/esbuild`;

export const ESBUILD = { path, missing: existsSync(path) ? false : `${path} is not there` };
