/** Every parser over files whose symbols, segments and code take hours where work is not bounded. */
import { testJob } from './in-child.js';

testJob('labours', 50);
