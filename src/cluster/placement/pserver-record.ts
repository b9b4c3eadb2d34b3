/** The seed's `/pservers/<index>`: the status of a pserver. Kept as `down` after the pserver has exited. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';

const count = z.int().min(0);

const unitSchema = z.strictObject({ unit: count, bytes: count });
/** How much memory the shards of a unit take. */
export type UnitBytes = z.infer<typeof unitSchema>;

const label = z.string().min(1).max(LIMITS.nameCharacters);
/** Where the pserver is, in the words of who started it: its machine, and what fails together with it. */
const labelFields = { hostLabel: label.optional(), zone: label.optional() };
export type PlaceLabels = Readonly<Pick<PserverRecord, keyof typeof labelFields>>;

export const pserverRecordSchema = z.strictObject({
  id: count,
  /** Host and address. */
  instance: z.string(),
  status: z.enum(['up', 'loading', 'draining', 'down']),
  /** Seconds since 1970. */
  start_time: z.number(),
  /** It serves. */
  sync: z.boolean(),
  /** Those that it leads. A little old: units come and go, and grow. */
  units: z.array(unitSchema).max(LIMITS.units),
  ...labelFields,
});
export type PserverRecord = z.infer<typeof pserverRecordSchema>;

export const parsePserverRecord = (key: string, value: string): PserverRecord =>
  parseStoreValue(pserverRecordSchema, key, value);
