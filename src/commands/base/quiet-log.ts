import type { Log } from '../../base/seams.ts';

/** For connections to processes that may be dead: the command shows in another way that they fail. */
export const QUIET_LOG: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
