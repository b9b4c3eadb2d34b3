/** The positions of shards in the order of their updates. A copy of a shard needs them besides its rows and blocks. */
import type { LoadedCheckpoint } from '../../../checkpoint/load/load-shards.ts';
import type { LookState } from '../../../core/shard/looks.ts';

export interface ShardPositions {
  /** Encoded ledgers by shard; shards at their initial values have none. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** Updates applied so far, by shard; 0 for shards that are not named. */
  readonly seqs: ReadonlyMap<number, number>;
  /** If tables have a `seen`: when the shards look for what is unseen. Shards that are not named have seen nothing. */
  readonly looks?: ReadonlyMap<number, LookState>;
}

/** The positions of shards at their initial values. */
export const NO_POSITIONS: ShardPositions = { ledgers: new Map(), seqs: new Map(), looks: new Map() };

/** Joins the positions of different shards. */
export const joinPositions = (parts: readonly ShardPositions[]): ShardPositions => ({
  ledgers: new Map(parts.flatMap(({ ledgers }) => [...ledgers])),
  seqs: new Map(parts.flatMap(({ seqs }) => [...seqs])),
  looks: new Map(parts.flatMap(({ looks }) => [...(looks ?? [])])),
});

export const loadedPositions = ({ positions, ledgers, looks }: LoadedCheckpoint): ShardPositions => ({
  ...{ ledgers, looks },
  seqs: new Map(positions.map(({ shard, seq }) => [shard, seq])),
});
