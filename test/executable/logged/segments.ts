/** The logs of all processes, cut into segments: what one `Held` object did with one shard while it held it. */
import { createHash } from 'node:crypto';
import type { Update } from '../../../src/roles/pserver/update/update.ts';
import { shardOfBlock, shardOfRow } from '../../../src/tensor/shard-hash.ts';
import type { Gradients, ShardUpdate } from '../../endless/update.ts';
import { blockKey, type Gradient } from './arithmetic.ts';
import type { LoggedJob, LoggedUpdate, LogRecord, ShardContent } from './update-log.ts';

type Named = Extract<Update, { type: 'push' | 'round' }>;

/** An update, or the close of several tasks, as one shard applied it. */
export interface ShardRecord {
  /** Equal updates have equal digests. */
  readonly digest: string;
  /** Updates of the shard after it. */
  readonly seq: number;
  /** If a task is already closed, closing it again is not an update. */
  readonly updates: () => readonly ShardUpdate<Gradient>[];
}

export interface Segment {
  readonly shard: number;
  /** The state that the `Held` object began with. */
  readonly start: ShardContent;
  readonly records: ShardRecord[];
}

/** What the processes of all logs are made for; they must agree. */
export function jobIn(logs: readonly LogRecord[][]): LoggedJob {
  const jobs = logs.flat().filter((record) => record.type === 'job');
  const texts = new Set(jobs.map((job) => JSON.stringify(job)));
  if (texts.size !== 1) throw new Error(`expected logs of one job, got ${texts.size}`);
  return jobs[0]!;
}

export function segmentsOf(logs: readonly LogRecord[][], job: LoggedJob): Segment[] {
  const splitter = new Splitter(job);
  return logs.flatMap((records) => [...segmentsIn(records, splitter)]);
}

function segmentsIn(records: readonly LogRecord[], splitter: Splitter): Segment[] {
  const all: Segment[] = [];
  const current = new Map<string, Segment>();
  for (const record of records) {
    if (record.type === 'hold')
      for (const start of record.contents) {
        const segment: Segment = { shard: start.shard, start, records: [] };
        const key = `${record.held}/${start.shard}`;
        if (current.has(key)) throw new Error(`shard ${start.shard} is held twice`);
        current.set(key, segment);
        all.push(segment);
      }
    if (record.type === 'letGo') for (const shard of record.shards) current.delete(`${record.held}/${shard}`);
    if (record.type !== 'update') continue;
    for (const [shard, one] of splitter.split(record)) {
      const segment = current.get(`${record.held}/${shard}`);
      if (segment === undefined) throw new Error(`shard ${shard} was updated, but is not held`);
      segment.records.push(one);
    }
  }
  return all;
}

interface Row {
  readonly key: bigint;
  readonly floats: Float32Array;
}

/** Splits updates by shard. */
class Splitter {
  readonly #job: LoggedJob;
  /** By table: shards of the ids so far. */
  readonly #shards: Map<bigint, number>[];

  constructor(job: LoggedJob) {
    this.#job = job;
    this.#shards = job.spec.sparse.map(() => new Map());
  }

  split({ update, seqs, rateScale }: LoggedUpdate): [number, ShardRecord][] {
    // The reference has no factor of the learning rate.
    if (rateScale !== 1) throw new Error(`expected the full learning rate, got ${rateScale} of it`);
    if (update.type === 'close') {
      const updates = update.tasks.map(({ pass, task }) => ({ type: 'close', pass, task }) as const);
      const digest = digestOf(JSON.stringify(updates));
      return seqs.map(([shard, seq]) => [shard, { digest, seq, updates: () => updates }]);
    }
    const tables = this.#job.spec.sparse.map(() => new Map<number, Row[]>());
    for (const { table, ids, gradients } of update.sparse) this.#splitRows(table, ids, gradients, tables[table]!);
    const blocks = this.#splitBlocks(update);
    return seqs.map(([shard, seq]) => {
      const rows = tables.map((byShard) => byShard.get(shard) ?? []);
      return [shard, this.#record(update, seq, rows, blocks.get(shard) ?? [])];
    });
  }

  #splitRows(table: number, idBytes: Uint8Array, gradientBytes: Uint8Array, into: Map<number, Row[]>): void {
    const { width } = this.#job.spec.sparse[table]!;
    const gradients = floatsOf(gradientBytes);
    new BigUint64Array(copyOf(idBytes)).forEach((id, i) => {
      put(into, this.#shardOf(table, id), { key: id, floats: gradients.subarray(i * width, (i + 1) * width) });
    });
    for (const rows of into.values()) rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #splitBlocks({ dense }: Named): Map<number, Row[]> {
    const into = new Map<number, Row[]>();
    for (const { parameter, blocks, gradients } of dense) {
      const { name } = this.#job.spec.dense[parameter]!;
      // All blocks but the last one of a parameter are equally long.
      const floats = floatsOf(gradients);
      const length = Math.ceil(floats.length / blocks.length);
      if (blocks.length > 1) throw new Error('expected dense parameters of one block');
      for (const [i, block] of blocks.entries()) {
        const part = floats.subarray(i * length, (i + 1) * length);
        const shard = shardOfBlock(name, block, this.#job.shards);
        put(into, shard, { key: BigInt(blockKey(parameter, block)), floats: part });
      }
    }
    for (const rows of into.values()) rows.sort((a, b) => Number(a.key - b.key));
    return into;
  }

  #shardOf(table: number, id: bigint): number {
    const known = this.#shards[table]!;
    let shard = known.get(id);
    if (shard === undefined) {
      shard = shardOfRow(this.#job.spec.sparse[table]!.name, id, this.#job.shards);
      known.set(id, shard);
    }
    return shard;
  }

  #record(update: Named, seq: number, rows: readonly Row[][], blocks: readonly Row[]): ShardRecord {
    const name = nameOf(update);
    const text = [name, ...[...rows, blocks].map((all) => all.map(({ key }) => key.toString()))];
    const floats = [...rows, blocks].flatMap((all) => all.map((row) => row.floats));
    const digest = digestOf(JSON.stringify(text), ...floats);
    const { sparse, dense } = this.#job.spec;
    const updates = (): ShardUpdate<Gradient>[] => {
      const gradients: Gradients<Gradient> = {
        tables: rows.map((all, table) => {
          const { optimizer } = sparse[table]!;
          return new Map(all.map(({ key, floats: own }) => [key, { optimizer, floats: own }]));
        }),
        blocks: new Map(
          blocks.map(({ key, floats: own }) => {
            const { optimizer } = dense[Number(key >> 20n)]!;
            return [Number(key), { optimizer, floats: own }];
          }),
        ),
      };
      return [{ ...name, ...gradients }];
    };
    return { digest, seq, updates };
  }
}

const nameOf = (update: Named) =>
  update.type === 'push'
    ? ({ type: 'push', position: update.push } as const)
    : ({ type: 'round', round: update.round, positions: update.batches.map(({ position }) => position) } as const);

function put(into: Map<number, Row[]>, shard: number, row: Row): void {
  const rows = into.get(shard);
  if (rows === undefined) into.set(shard, [row]);
  else rows.push(row);
}

/** A copy that begins where its buffer does. */
const copyOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;
const floatsOf = (bytes: Uint8Array): Float32Array => new Float32Array(copyOf(bytes));

function digestOf(text: string, ...floats: readonly Float32Array[]): string {
  const hash = createHash('sha1').update(text);
  for (const one of floats) hash.update(one);
  return hash.digest('hex');
}
