/** All keys below `/checkpoints/`, as they were at one revision of the store. */
import type { Keys } from '../../store/keys.ts';
import { parseCut, type ReadCut } from './cut.ts';
import { type PublishedEntry, readEntries, type StoredEntry } from './discover.ts';
import { parseKept, type ReadKept } from './kept-key.ts';

export type CheckpointKeys = Pick<Keys, 'checkpoint' | 'checkpointsPrefix' | 'cut' | 'kept'>;

export interface ReadCheckpointKeys {
  readonly published: readonly PublishedEntry[];
  /** Why other entries cannot be parsed. */
  readonly complaints: readonly string[];
  readonly cut: ReadCut;
  readonly kept: ReadKept;
}

/** Throws `StoreValueInvalid` if the cut or what is kept cannot be parsed. */
export function readCheckpointKeys(keys: CheckpointKeys, entries: readonly StoredEntry[]): ReadCheckpointKeys {
  const found = (key: string) => entries.find((entry) => entry.key === key);
  return {
    ...readEntries(keys.checkpointsPrefix, entries),
    cut: parseCut(keys.cut, found(keys.cut)),
    kept: parseKept(keys.kept, found(keys.kept)),
  };
}
