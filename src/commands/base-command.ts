/** What command files import from `base/`. */
export type { CommandClass } from './base/command-class.ts';
export { cacheFlags, dataFlags, dataFlagsElse, jobFlags, labelsFlag, setFlags, storeFlags } from './base/flags.ts';
export { PaddletCommand } from './base/paddlet-command.ts';
export type { Progress, Wait } from './base/waiting.ts';
