/** Paths of checkpoint files: `<folder>/<index>/<uuid>`, and under a temporary name while they are written. */
import { createHash } from 'node:crypto';
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
export const UUID_PATTERN = new RegExp(`^${UUID}$`);
const TEMPORARY_PATTERN = new RegExp(`^\\.([0-9a-f]{12})\\.(\\d{1,20})\\.(${UUID})\\.part$`);

export interface FilePlace {
  /** The job's checkpoint folder, shared by all its pservers. */
  readonly folder: string;
  /** The pserver's index. */
  readonly index: number;
}

/** The folder of one pserver's files. */
export function indexFolder({ folder, index }: FilePlace): string {
  assert(Number.isInteger(index) && index >= 0 && index < LIMITS.pservers, 'a pserver index is in range');
  return `${folder}/${index}`;
}

/** Path of a published file. A name that is not a UUID could lead out of the folder: `CheckpointCorrupt`. */
export function checkpointPath(place: FilePlace, uuid: string): string {
  if (!UUID_PATTERN.test(uuid)) {
    throw new PaddletError('CheckpointCorrupt', `checkpoint name ${JSON.stringify(uuid)} is not a UUID`);
  }
  return `${indexFolder(place)}/${uuid}`;
}

export interface TemporaryName {
  readonly jobTag: string;
  readonly token: bigint;
  readonly uuid: string;
}

/** Jobs may share a folder: tokens are compared only between names of one job. */
export const jobTag = (jobId: string): string => createHash('sha256').update(jobId).digest('hex').slice(0, 12);

/** The name has the file's owner, so that a file whose header was torn can still be recognized as an orphan. */
export function temporaryPath(place: FilePlace, { jobTag, token, uuid }: TemporaryName): string {
  assert(UUID_PATTERN.test(uuid), 'a checkpoint is named by a UUID');
  return `${indexFolder(place)}/.${jobTag}.${token}.${uuid}.part`;
}

export function parseTemporaryName(name: string): TemporaryName | undefined {
  const match = TEMPORARY_PATTERN.exec(name);
  if (match === null) return undefined;
  return { jobTag: match[1]!, token: BigInt(match[2]!), uuid: match[3]! };
}
