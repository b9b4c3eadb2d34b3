/** `/ps_desired`: the number of pservers. It may change while the job runs. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { KeyValue } from '../../store/store.ts';

export const parseDesired = ({ key, value }: KeyValue): number =>
  parseStoreValue(z.int().min(1).max(LIMITS.pservers), key, value);
