/** In what timers of threads expire. */
import { isRealtime, kernelSigns } from '../../src/loader/realtime.js';

export const isRealtimeHere = isRealtime(kernelSigns());
/** kernel/time/hrtimer.c: real-time kernels let them expire in softirqs, which threads serve there. */
export const TIMER_CONTEXT = isRealtimeHere ? 'softirq' : 'hardirq';
