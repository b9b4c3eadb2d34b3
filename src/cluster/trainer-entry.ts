/** The value of `/trainer/<uuid>`: where a live trainer is, and in which job it works. */
import * as z from 'zod';
import { parsedJson } from '../base/parsed-json.ts';
import { parseStoreValue } from '../core/tasks/state.ts';
import type { KeyValue } from '../store/store.ts';

const schema = z.strictObject({
  /** `host:port`. */
  address: z.string(),
  /**
   * Id of the job: a trainer that still holds the record of a job that was started over does not belong to the new one.
   */
  job: z.string(),
  /** By `paddlet run`, which stops it too when fewer trainers are wanted. */
  startedBy: z.literal('run').optional(),
});
export type TrainerEntry = Readonly<z.infer<typeof schema>>;

export const trainerEntryText = ({ address, job, startedBy }: TrainerEntry): string =>
  JSON.stringify({ address, job, startedBy });

/** Where to ask the process that wrote it: also of another version, whose value is the address itself. */
export const trainerAddress = (value: string): string => readable(value)?.address ?? value;

/** Throws `StoreValueInvalid`. */
export const parseTrainerEntry = ({ key, value }: Pick<KeyValue, 'key' | 'value'>): TrainerEntry =>
  parseStoreValue(schema, key, value);

/** Whether `paddlet run` started the trainer that wrote it. */
export const isStartedByRun = (value: string): boolean => readable(value)?.startedBy === 'run';

/**
 * Address of a client that does not listen (docs/client.md). If such a client does not answer, this says nothing about
 * it.
 */
export const NOT_LISTENING = '127.0.0.1:1';

/** Undefined when another version wrote it. */
const readable = (value: string): TrainerEntry | undefined => schema.safeParse(parsedJson(value)).data;

/** The first characters of the id of a trainer, for people: enough to tell those of a job apart. */
export const shortId = (id: string): string => id.slice(0, 8);
