/**
 * What a job says about tables that stay small, and the constants of docs/decisions/0168. The reference (shard.ts) and
 * the simulation (world.ts) share only `assert` with `src`, so that they can check `src`.
 */

/** `count`: an id gets a row at the update that names it for the `min`th time. `probability`: each update draws. */
export type Admission =
  | { readonly type: 'all' }
  | { readonly type: 'count'; readonly min: number }
  | { readonly type: 'probability'; readonly p: number };

export type Eviction = { readonly unseenPasses: number } | { readonly unseenUpdates: number };

export interface TableRules {
  readonly admission: Admission;
  readonly eviction?: Eviction | undefined;
  /** Bytes of the whole table; each shard may use an equal part of them. */
  readonly maxBytes?: number | undefined;
  /** Logical bytes of a row: id, values, optimizer state, `seen`. */
  readonly rowBytes: number;
}

/** Name of an update. It stays the same if a repair repeats the update. */
export type UpdateName =
  | { readonly pass: number; readonly task: number; readonly push: number }
  | { readonly round: number };

/** Values and optimizer state of a row or block, as plain numbers. */
export type Values = readonly number[];

/** The arithmetic of the model. `G`: the gradient of a row or block. */
export interface Arithmetic<G = number> {
  initialRow(table: number, id: bigint): Values;
  initialBlock(block: number): Values;
  /** Returns the next values. They depend on the order of the updates, so that a test notices two exchanged updates. */
  update(values: Values, gradient: G): Values;
}

export interface JobRules<G = number> {
  readonly shards: number;
  /** Tasks of a pass. */
  readonly tasks: number;
  readonly tables: readonly TableRules[];
  /** Whether checkpoints may be deltas: then all tables and blocks have a `seen`. */
  readonly hasDeltas: boolean;
  readonly arithmetic: Arithmetic<G>;
  /** Returns a number in [0, 1) that depends only on job seed, table, id and name of the update. */
  readonly draw: (table: number, id: bigint, name: UpdateName) => number;
  /** Values of the `seen` counter before it overflows: 2^32, or less in a test. */
  readonly seenLimit: number;
  /** The looks of all shards are spread over this many updates: 64, or less in a test. */
  readonly spread: number;
}

export const CANDIDATE_BYTES = 16;
/** Bytes that a shard may use; undefined: as many as it needs. */
export const shardBytes = ({ shards }: JobRules<unknown>, { maxBytes }: TableRules): number | undefined =>
  maxBytes === undefined ? undefined : Math.floor(maxBytes / shards);

/** Number of candidates that a shard may have: they take at most a quarter of its bytes. */
export const candidateLimit = (bytes: number): number => Math.floor(Math.floor(bytes / 4) / CANDIDATE_BYTES);

/** Evictions go down to this part of a limit, so that the next updates need none. */
export const afterEvictions = (limit: number): number => Math.floor((limit * 9) / 10);

/** Whether rows of the table have a `seen`. */
export const isTracked = ({ hasDeltas }: JobRules<unknown>, { eviction, maxBytes }: TableRules): boolean =>
  hasDeltas || eviction !== undefined || maxBytes !== undefined;

export const passesOf = ({ eviction }: TableRules): number | undefined =>
  eviction !== undefined && 'unseenPasses' in eviction ? eviction.unseenPasses : undefined;

export const updatesOf = ({ eviction }: TableRules): number | undefined =>
  eviction !== undefined && 'unseenUpdates' in eviction ? eviction.unseenUpdates : undefined;

/** Updates after the one that made a look due, until shard `shard` looks: at most `spread`. */
export const delayOf = ({ shards, spread }: JobRules<unknown>, shard: number): number =>
  Math.floor((spread * shard) / shards) + 1;

/** The move of the base is due this number of updates before `seen` overflows, and comes at most `spread` later. */
export const moveMargin = ({ spread }: JobRules<unknown>): number => 2 * spread;
