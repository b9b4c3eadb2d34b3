/** `/ps_desired`: the number of pservers. A restore may change it (src/checkpoint/registry/publish-restored.ts). */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { KeyValue } from '../../store/store.ts';

export const parseDesired = ({ key, value }: KeyValue): number =>
  parseStoreValue(z.int().min(1).max(LIMITS.pservers), key, value);

/** Throws `Resized` when it is not the number that this process started with. */
export function checkDesired(entry: KeyValue, pservers: number): void {
  const desired = parseDesired(entry);
  if (desired === pservers) return;
  throw new PaddletError(
    'Resized',
    `the job now has ${desired} pservers; it had ${pservers} when this process started`,
    {
      hint: 'it was restored to another number of pservers: start this process again',
    },
  );
}
