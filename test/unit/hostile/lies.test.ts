/** Every parser over files that say what is not so. */
import { testJob } from './in-child.js';

testJob('lies', 100);
