/**
 * Marks all that this process starts, wherever it works: see isOurs(). A test that is started by
 * another one is part of that.
 */
import { randomUUID } from 'node:crypto';

export const MARK = 'TSTRACE_TEST_RUN';
process.env[MARK] ??= randomUUID();
