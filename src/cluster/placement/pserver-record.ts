/** The seed's `/pservers/<index>`: the status of a pserver. Kept as `down` after the pserver has exited. */
import * as z from 'zod';
import { parseStoreValue } from '../../core/tasks/state.ts';

const schema = z.strictObject({
  id: z.int().min(0),
  /** Host and address. */
  instance: z.string(),
  status: z.enum(['up', 'loading', 'draining', 'down']),
  /** Seconds since 1970. */
  start_time: z.number(),
  /** It holds all its shards. */
  sync: z.boolean(),
});
export type PserverRecord = z.infer<typeof schema>;

export const parsePserverRecord = (key: string, value: string): PserverRecord => parseStoreValue(schema, key, value);
