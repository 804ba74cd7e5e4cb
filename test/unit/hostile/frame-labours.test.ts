/** Every parser over files whose frames take hours where work is not bounded. */
import { testJob } from './in-child.js';

testJob('labours of frames', 100);
