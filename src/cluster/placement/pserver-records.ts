/** The records of all pservers as the store has them: what each says of its status and of the sizes of its units. */
import type { Cancel } from '../../base/seams.ts';
import { follow } from '../../store/follow.ts';
import type { KeyValue } from '../../store/store.ts';
import type { StoreContext } from '../context.ts';
import { type PserverRecord, parsePserverRecord } from './pserver-record.ts';
import { indexAfter } from './unit-places.ts';
import { type UnitSizes, unitSizesIn } from './unit-sizes.ts';

export interface PserverRecords {
  /** Undefined while the store has none of this index. A little old, and kept after the pserver has exited. */
  of(index: number): PserverRecord | undefined;
  /** Bytes of a unit: as this pserver says, or else the most that any other says; undefined when none says anything. */
  bytesOf(unit: number, leader: number | undefined): number | undefined;
  isLoaded(): boolean;
  /** Changes with every change of a record. */
  version(): number;
  readonly cancel: Cancel;
}

/** `onFatal` is called when the store can no longer be followed. */
export function followPserverRecords(
  { store, keys, host }: Pick<StoreContext, 'host' | 'store' | 'keys'>,
  onChanged: () => void,
  onFatal: (error: Error) => void,
): PserverRecords {
  const records = new Map<number, PserverRecord>();
  let sizes: UnitSizes | undefined;
  let version = 0;
  const changed = (): void => {
    sizes = undefined;
    version += 1;
    onChanged();
  };
  const put = (entry: KeyValue): void =>
    void records.set(indexAfter(keys.pserversPrefix, entry), parsePserverRecord(entry.key, entry.value));
  const cancel = follow(
    store,
    keys.pserversPrefix,
    {
      onSnapshot(entries) {
        records.clear();
        entries.forEach(put);
        changed();
      },
      onEvents(events) {
        for (const event of events) {
          if (event.type === 'put') put(event.entry);
          else records.delete(indexAfter(keys.pserversPrefix, event));
        }
        changed();
      },
      onEnd: onFatal,
    },
    host.clock,
  );
  return {
    of: (index) => records.get(index),
    bytesOf(unit, leader) {
      sizes ??= unitSizesIn(records);
      return sizes.of(unit, leader);
    },
    isLoaded: () => version > 0,
    version: () => version,
    cancel,
  };
}
