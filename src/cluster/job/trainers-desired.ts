/**
 * `/trainers_desired`: how many trainers `paddlet run` keeps running. The key is missing while that is the number in
 * the job file.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { KeyValue } from '../../store/store.ts';

const number = z.int().min(1).max(LIMITS.trainers);

const schema = z.strictObject({
  trainers: number,
  /** `cluster.trainers` of the job file that this number takes the place of. */
  jobFile: number,
});
export type TrainersDesired = Readonly<z.infer<typeof schema>>;

export const parseTrainersDesired = ({ key, value }: KeyValue): TrainersDesired => parseStoreValue(schema, key, value);

/**
 * The number for a run that starts with a job file. A job file that has been changed since the key was written, or
 * since the job was published, wins: that is the newer word. `published`: the number that the job was published with.
 */
export function trainersFor(jobFile: number, key: TrainersDesired | undefined, published: number): TrainersDesired {
  const known = key ?? { trainers: published, jobFile: published };
  return known.jobFile === jobFile ? known : { trainers: jobFile, jobFile };
}
