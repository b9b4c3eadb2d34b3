import type { Log } from '../../base/seams.ts';

/** For connections to processes that may be dead: that they fail is told in another way. */
export const QUIET_LOG: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
