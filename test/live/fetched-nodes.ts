/** Versions of Node.js beside the one that runs tests, whose functions have names. */
import { resolve } from 'node:path';

/**
 * As scripts/setup.sh has fetched them: the oldest, and the newest. `make test-nodes` names all that there are, as these
 * tests take minutes. npm has them for one architecture only.
 */
const ASKED = (process.env.TSTRACE_TEST_NODES ?? '22.23.3 26.12.1').split(' ');

export const FETCHED_NODES = process.arch === 'x64' ? ASKED : [];

/** The program. */
export const fetchedNode = (version: string): string => resolve(`build/nodes/${version}/node`);
