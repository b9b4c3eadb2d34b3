/** The copies of units, as the request handlers use them. */
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { CopiedUnits } from './copied-units.ts';
import type { CopyDigests } from './copy-digests.ts';
import type { Inboxes } from './inboxes.ts';
import type { Joins } from './joins.ts';
import type { UnitMachines } from './machines.ts';
import type { Placing } from './placing.ts';
import type { ReplicatedJob } from './replicate-codec.ts';

export interface ServedReplicas {
  /**
   * Await the returned promise before judging a request, and call this again until it returns undefined. Requests wait
   * while a unit is being handed over, or has too few copies for an update.
   */
  wait(kind: 'read' | 'update'): Promise<void> | undefined;
  readonly me: UnitOwner;
  readonly job: ReplicatedJob;
  readonly owned: Pick<OwnedShards, 'stamp' | 'heads'>;
  readonly placing: Pick<Placing, 'place' | 'turns' | 'counted' | 'nextOrder'>;
  readonly inboxes: Pick<Inboxes, 'opened' | 'received'>;
  readonly digests: Pick<CopyDigests, 'of'>;
  /** Used for answers about copies. */
  readonly machines: Pick<UnitMachines<SharedUpdate>, 'units' | 'of'>;
  readonly joins: Pick<Joins, 'making'>;
  /** Copies here of units that other pservers lead. */
  readonly copied: Pick<CopiedUnits, 'units' | 'positions'>;
}
