/** Every parser over valid files in which something was changed. */
import { testJob } from './in-child.js';

testJob('mutations', 100);
