/** For tests that do not look at where the time goes. */
import type { WorkTimes } from '../../../src/roles/pserver/metrics.ts';

export const UNTIMED: WorkTimes = { enter: () => 'other', during: (_, work) => work() };
