/**
 * The log of a process: each update that its `Held` objects apply, in the order of the calls, and the state of each
 * shard that they begin to hold. A record is written by one synchronous write before anything else can learn of the
 * update. So a process that is killed has logged everything that others know of.
 */
import { randomUUID } from 'node:crypto';
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { LookState } from '../../../src/core/shard/looks.ts';
import { Held } from '../../../src/roles/pserver/held/held.ts';
import type { Update } from '../../../src/roles/pserver/update/update.ts';
import type { TrainedSpec } from '../../../src/tensor/optimizer.ts';
import type { DenseBlock, ShardRows } from '../../../src/tensor/parameters.ts';
import { storedTables } from '../../../src/tensor/stored-tables.ts';

/** Name of the variable with the folder of the logs. */
export const LOGS = 'PADDLET_TEST_UPDATES';

/** Everything that belongs to a shard, as memory and files have it. */
export interface ShardContent {
  readonly shard: number;
  readonly seq: number;
  readonly ledger: Uint8Array;
  readonly looks: LookState | undefined;
  /** By place in `storedTables`. */
  readonly tables: readonly ShardRows[];
  readonly blocks: readonly DenseBlock[];
}

export interface LoggedJob {
  readonly type: 'job';
  readonly spec: TrainedSpec;
  readonly shards: number;
  readonly tasks: number;
}

export interface LoggedUpdate {
  readonly type: 'update';
  /** Number of the `Held` object in its process. */
  readonly held: number;
  /** [shard, `seq` after the update] of the shards that applied it. */
  readonly seqs: readonly (readonly [number, number])[];
  readonly update: Update;
  /** Factor of the learning rate. */
  readonly rateScale: number;
}

export type LogRecord =
  | LoggedJob
  | LoggedUpdate
  | { readonly type: 'hold'; readonly held: number; readonly contents: readonly ShardContent[] }
  | { readonly type: 'letGo'; readonly held: number; readonly shards: readonly number[] };

const LENGTH_BYTES = 4;

/** Makes all `Held` objects of this process log what they do. */
export function logUpdates(folder: string): void {
  const numbers = new WeakMap<Held, number>();
  let count = 0;
  let file: number | undefined;

  function write(record: LogRecord): void {
    file ??= openSync(join(folder, randomUUID()), 'ax');
    const body = serialize(record);
    const bytes = Buffer.alloc(LENGTH_BYTES + body.byteLength);
    bytes.writeUInt32LE(body.byteLength);
    body.copy(bytes, LENGTH_BYTES);
    for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at);
  }

  function numberOf(held: Held): number {
    let number = numbers.get(held);
    if (number === undefined) {
      const { spec, shards, tasks } = held.job;
      // Without what is undefined, and without functions.
      if (count === 0) write({ type: 'job', spec: JSON.parse(JSON.stringify(spec)) as TrainedSpec, shards, tasks });
      number = count++;
      numbers.set(held, number);
    }
    return number;
  }

  const { hold, letGo, apply } = Held.prototype;
  Held.prototype.hold = function (shards, positions) {
    hold.call(this, shards, positions);
    write({ type: 'hold', held: numberOf(this), contents: shards.map((shard) => contentOf(this, shard)) });
  };
  Held.prototype.letGo = function (shards) {
    write({ type: 'letGo', held: numberOf(this), shards });
    letGo.call(this, shards);
  };
  Held.prototype.apply = function (update, shards) {
    const rateScale = update.type === 'round' ? this.rateShareOf(update.round) : 1;
    // The gradients may be in kernel memory, which the update may move: the copy comes first.
    const copy = deserialize(serialize(update)) as Update;
    const before = seqsOf(this);
    const old = apply.call(this, update, shards);
    const seqs = [...seqsOf(this)].filter(([shard, seq]) => before.get(shard) !== seq);
    const scale = update.type === 'push' ? update.rateScale : rateScale;
    write({ type: 'update', held: numberOf(this), seqs, update: copy, rateScale: scale });
    return old;
  };
}

function seqsOf(held: Held): Map<number, number> {
  const seqs = new Map<number, number>();
  for (let shard = 0; shard < held.job.shards; shard++) {
    const seq = held.seqOf(shard);
    if (seq !== undefined) seqs.set(shard, seq);
  }
  return seqs;
}

function contentOf(held: Held, shard: number): ShardContent {
  const { ledgers, seqs, looks } = held.positions([shard]);
  const { parameters } = held;
  return {
    ...{ shard, seq: seqs.get(shard)!, ledger: ledgers.get(shard)!, looks: looks?.get(shard) },
    tables: storedTables(held.job.spec.sparse).map((_, table) => parameters.exportRows(shard, table)),
    blocks: parameters.exportBlocks(shard),
  };
}

/** The records of each process that logged some. A record that a killed process began to write is left out. */
export function readLogs(folder: string): LogRecord[][] {
  return readdirSync(folder).map((name) => [...recordsOf(readFileSync(join(folder, name)))]);
}

function* recordsOf(bytes: Buffer): Generator<LogRecord> {
  for (let at = 0; at + LENGTH_BYTES <= bytes.byteLength; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt32LE(at);
    if (end > bytes.byteLength) return;
    yield deserialize(bytes.subarray(at + LENGTH_BYTES, end)) as LogRecord;
    at = end;
  }
}
