/** Every parser over texts, profiles and type information that were made to do harm. */
import { testJob } from './in-child.js';

testJob('texts', 100);
