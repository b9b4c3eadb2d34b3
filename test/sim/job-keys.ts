/** Where the simulated job is in the store. */
import { defaultChroot, type Keys, keysOf } from '../../src/store/keys.ts';
import { JOB_NAME } from './workload.ts';

export const KEYS: Keys = keysOf(defaultChroot(JOB_NAME));
