/** The value of `/trainer/<uuid>`: where a live trainer is, and in which job it works. */
import * as z from 'zod';
import { parseStoreValue } from '../core/tasks/state.ts';
import type { KeyValue } from '../store/store.ts';

const schema = z.strictObject({
  /** `host:port`. */
  address: z.string(),
  /** The job's id: a trainer that still holds the record of a job that was started over is none of the new one. */
  job: z.string(),
});
export type TrainerEntry = Readonly<z.infer<typeof schema>>;

export const trainerEntryText = ({ address, job }: TrainerEntry): string => JSON.stringify({ address, job });

/** Where to ask the process that wrote it: also of another version, whose value is the address itself. */
export function trainerAddress(value: string): string {
  try {
    return schema.safeParse(JSON.parse(value)).data?.address ?? value;
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
}

/** Throws `StoreValueInvalid`. */
export const parseTrainerEntry = ({ key, value }: Pick<KeyValue, 'key' | 'value'>): TrainerEntry =>
  parseStoreValue(schema, key, value);
