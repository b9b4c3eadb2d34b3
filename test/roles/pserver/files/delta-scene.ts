/**
 * A pserver that saves bases and deltas, in any order: pushes go on while files are written, files are refused, and
 * shards are loaded again in between. Each published file is loaded, and compared with the shards as they were.
 */
import { expect } from 'vitest';
import type { CheckpointMeta } from '../../../../src/checkpoint/file/format.ts';
import { checkpointPath } from '../../../../src/checkpoint/file/paths.ts';
import { openCheckpoint, readGone } from '../../../../src/checkpoint/file/reader.ts';
import { checkStructure } from '../../../../src/checkpoint/file/structure.ts';
import { type CheckpointFile, writeCheckpointFile } from '../../../../src/checkpoint/file/write-durable-file.ts';
import { loadGeneration } from '../../../../src/checkpoint/load/load.ts';
import { type Generation, generationOf } from '../../../../src/checkpoint/registry/entry.ts';
import type { LookRules, LookState } from '../../../../src/core/shard/looks.ts';
import { DeltaParents } from '../../../../src/roles/pserver/files/delta-parents.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import { NO_POSITIONS, type ShardPositions } from '../../../../src/roles/pserver/held/positions.ts';
import { type RoundView, viewRound } from '../../../../src/roles/pserver/modes/rounds/round-view.ts';
import type { TrainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { DensePart, ParameterMemory, Parameters, SparsePart } from '../../../../src/tensor/parameters.ts';
import { createParameters } from '../../../../src/tensor/wasm-parameters.ts';
import { createFiles, metaOf, PLACE, uuidOf } from '../../../checkpoint/fixture.ts';
import { createDice, type Dice } from '../../../sim/dice.ts';
import type { StoredFiles } from '../../../simulated-objects.ts';
import { candidatesOf, ROW_BYTES, SEED, type TriedTable, trainedTables } from '../../../tensor/admission/kernel-job.ts';
import { HIGHEST, rowsPart } from '../../../tensor/fixture.ts';
import { firstHeads } from '../held/owned-heads.ts';

const SHARDS = 3;
export const ALL = [0, 1, 2];
const TASKS = 4;
const COUNT = { type: 'count', min: 2 } as const;
const TABLES: readonly TriedTable[] = [
  { name: 'plain', hasSeen: true },
  { name: 'updates', hasSeen: true, eviction: { unseenUpdates: 16 } },
  { name: 'count', hasSeen: true, admission: COUNT, eviction: { unseenPasses: 1 } },
  { name: 'count, bound', hasSeen: true, admission: COUNT, shardBytes: 12 * ROW_BYTES },
  { name: 'draw, bound', hasSeen: true, admission: { type: 'probability', p: 0.6 }, shardBytes: 12 * ROW_BYTES },
];
const STORED = candidatesOf(TABLES, TABLES.length);
const looks: LookRules = {
  ...{ shards: SHARDS, seenRange: 64, spread: 8 },
  evictions: TABLES.map(({ eviction }) => eviction),
};
const DENSE: TrainedSpec['dense'][number] = {
  ...{ name: 'w', shape: [5], initializer: { type: 'zeros' as const } },
  optimizer: { type: 'momentum', learningRate: 1, momentum: 0.5, l2: 0 },
};
const spec = { dense: [DENSE], sparse: trainedTables(TABLES) };
const JOB = { spec, shards: SHARDS, tasks: TASKS, looks };
export const EXPECTED = { jobId: 'a job', parameters: spec, seed: SEED, shards: SHARDS };
const IDS = [...Array.from({ length: 45 }, (_, id) => BigInt(id)), HIGHEST, 2n ** 63n];
const METRICS = { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 };

/** What was tried. */
export const counts = { deltas: 0, whole: 0, gone: 0, blocksLeftOut: 0, links: 0, refused: 0, views: 0, movedBases: 0 };

interface SavedShard {
  readonly seq: number;
  readonly looks: LookState;
  readonly ledger: Uint8Array;
  readonly rows: unknown;
  readonly blocks: unknown;
}

/** Called with each published file, and what was loaded from it. */
export type Look = (published: {
  readonly scene: Scene;
  readonly uuid: string;
  readonly loaded: ParameterMemory;
}) => Promise<void>;

export class Scene {
  readonly dice: Dice;
  readonly files: StoredFiles = createFiles();
  /** By name of a published file. */
  readonly saved = new Map<string, ReadonlyMap<number, SavedShard>>();
  parameters = memory(ALL);
  held: OwnedShards;
  parents: DeltaParents;
  readonly #published = new Map<string, Generation>();
  #saves = 0;
  #pushes = 0;
  #round = 0;
  #views: RoundView[] = [];

  readonly #look: Look | undefined;

  constructor(seed: number, look?: Look) {
    this.#look = look;
    this.dice = createDice(seed, 'deltas');
    this.held = owned(this.parameters, NO_POSITIONS);
    this.parents = new DeltaParents(this.held, 6);
  }

  /** Async mode. Some shards get nothing: their tasks are other ones. */
  push(): void {
    const at = this.#pushes++;
    const [task, pass] = [at % TASKS, Math.floor(at / TASKS)];
    const position = { pass, task, push: 0, last: true, good: 1 };
    const shards = this.dice.chance(0.3) ? ALL.filter(() => this.dice.chance(0.5)) : ALL;
    if (shards.length > 0)
      this.held.apply({ type: 'push', push: position, shards, ...this.#gradients(), rateScale: 1 });
    const others = ALL.filter((shard) => !shards.includes(shard));
    // The others get the end of the task alone.
    if (others.length > 0) this.held.apply({ type: 'close', tasks: [{ pass, task, records: 9 }] }, others);
  }

  round(): void {
    const at = this.#round++;
    const [task, pass] = [at % TASKS, Math.floor(at / TASKS)];
    const position = { pass, task, push: 0, last: true, good: 1 };
    const gradients = this.#gradients();
    for (const view of this.#views) view.keep(gradients);
    this.held.apply({ type: 'round', timeline: 0, round: at, batches: [{ position, metrics: METRICS }], ...gradients });
  }

  /** Writes a file while `during` goes on, from a view of now or shard by shard. */
  async save(isDelta: boolean, isView: boolean, during: () => void): Promise<void> {
    const { parents, held } = this;
    const uuid = uuidOf(++this.#saves);
    const names = isDelta ? parents.namesFor(ALL) : [];
    const kind = names.length === 0 ? ({ kind: 'full' } as const) : ({ kind: 'delta', parents: names } as const);
    const meta: CheckpointMeta = metaOf(EXPECTED, { uuid, ...kind });
    const saved = new Map<number, SavedShard>();
    const view = isView ? viewRound(this.parameters, { spec, shards: SHARDS }) : undefined;
    const mark = isView ? parents.beginView() : undefined;
    const moments = new Map(ALL.map((shard) => [shard, held.momentOf(shard)]));
    if (view !== undefined) {
      counts.views += 1;
      this.#views.push(view);
      for (const shard of ALL) saved.set(shard, stateOf(held, shard));
    }
    const file = await writeCheckpointFile({
      ...{ storage: this.files.storage, folder: PLACE.folder, meta, shards: ALL, extentBytes: 600 },
      parameters: view ?? this.parameters,
      momentOf: (shard) => {
        during();
        if (view === undefined) saved.set(shard, stateOf(held, shard));
        return parents.capture(view === undefined ? held.momentOf(shard) : moments.get(shard)!, names, mark);
      },
    });
    if (view !== undefined) {
      this.#views = this.#views.filter((one) => one !== view);
      view.close();
      parents.endView();
    }
    await this.#publish(file, meta, saved);
  }

  async #publish(file: CheckpointFile, meta: CheckpointMeta, saved: ReadonlyMap<number, SavedShard>): Promise<void> {
    if (this.dice.chance(0.8)) {
      this.#published.set(file.uuid, generationOf(file, meta));
      this.saved.set(file.uuid, saved);
      this.parents.published(file.uuid, file.positions);
      for (const { parent } of file.positions) counts[parent === undefined ? 'whole' : 'deltas'] += 1;
      return this.#check(file.uuid, saved);
    }
    counts.refused += 1;
    await this.files.storage.delete(checkpointPath(PLACE, file.uuid));
    this.parents.refused();
  }

  /** Loads the file and those that it builds on, and begins again with that. */
  async reload(): Promise<void> {
    const [uuid] = [...this.saved.keys()].slice(-1);
    if (uuid === undefined) return;
    const { parameters, positions } = await this.#loaded(uuid, memory([]));
    this.parameters = parameters;
    this.held = owned(parameters, positions);
    this.parents = new DeltaParents(this.held, 6);
    const seq = Math.max(...ALL.map((shard) => this.held.seqOf(shard)!));
    // Goes on with tasks that the ledgers do not have.
    this.#pushes = this.#round = TASKS * Math.ceil(Math.max(seq, this.#pushes, this.#round) / TASKS);
  }

  async #check(uuid: string, saved: ReadonlyMap<number, SavedShard>): Promise<void> {
    const { parameters, positions } = await this.#loaded(uuid, LOADED);
    for (const [shard, { seq, looks: state, ledger, rows, blocks }] of saved) {
      expect(positions.seqs.get(shard)).toBe(seq);
      expect(positions.looks!.get(shard)).toEqual(state);
      expect(Buffer.compare(positions.ledgers.get(shard)!, ledger)).toBe(0);
      expect(rowsOf(parameters, shard)).toEqual(rows);
      expect(parameters.exportBlocks(shard)).toEqual(blocks);
    }
    await this.#look?.({ scene: this, uuid, loaded: parameters });
    for (const shard of saved.keys()) parameters.dropShard(shard);
  }

  async #loaded(tip: string, parameters: Parameters): Promise<{ parameters: Parameters; positions: ShardPositions }> {
    const names = [...this.saved.keys()];
    const [newest, ...earlier] = names
      .slice(0, names.indexOf(tip) + 1)
      .reverse()
      .map((uuid) => this.#published.get(uuid)!);
    const options = { storage: this.files.storage, place: PLACE, expected: EXPECTED, into: parameters };
    const { positions, ledgers, looks: states } = await loadGeneration(newest!, options, earlier);
    const reader = await openCheckpoint(this.files.storage, checkpointPath(PLACE, tip));
    await checkStructure(reader);
    for (const { shard } of positions) await tally(reader, shard);
    await reader.close();
    return {
      parameters,
      positions: { seqs: new Map(positions.map(({ shard, seq }) => [shard, seq])), ledgers, looks: states },
    };
  }

  #gradients(): { dense: DensePart[]; sparse: SparsePart[] } {
    const chance = this.dice.pick([0.1, 0.1, 0.5]);
    const sparse = TABLES.flatMap((_, table) => {
      const ids = IDS.filter(() => this.dice.chance(chance));
      return this.dice.chance(0.7)
        ? [rowsPart(table, ids, Array<number>(ids.length).fill(this.dice.whole(-3, 3)))]
        : [];
    });
    const gradients = new Uint8Array(Float32Array.from({ length: 5 }, () => this.dice.whole(-3, 3)).buffer);
    return { sparse, dense: [{ parameter: 0, blocks: Uint32Array.of(0), gradients }] };
  }
}

type Reader = Awaited<ReturnType<typeof openCheckpoint>>;

async function tally(reader: Reader, shard: number): Promise<void> {
  const { seq, parent } = reader.positions.find((one) => one.shard === shard)!;
  if (parent === undefined) return;
  counts.links += 1;
  for (const table of TABLES.keys()) counts.gone += (await readGone(reader, shard, table)).length;
  if (seq === parent.seq) counts.blocksLeftOut += 1;
  if ((await reader.looksOf(shard))!.base > 0) counts.movedBases += 1;
}

function memory(shards: readonly number[]): Parameters {
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS, recallsPulls: true });
  for (const shard of shards) parameters.addShard(shard);
  return parameters;
}

/** Empty between checks. */
const LOADED = memory([]);

const owned = (parameters: Parameters, positions: ShardPositions): OwnedShards =>
  new OwnedShards({ ...JOB, units: 1 }, firstHeads([0]), { parameters, ...positions });

const rowsOf = (parameters: ParameterMemory, shard: number): unknown =>
  Array.from({ length: STORED }, (_, table) => parameters.exportRows(shard, table));

const stateOf = (held: OwnedShards, shard: number): SavedShard => {
  const { seq, looks: state, ledger } = held.momentOf(shard);
  const rows = rowsOf(held.parameters, shard);
  return { seq, looks: state!, ledger, rows, blocks: held.parameters.exportBlocks(shard) };
};

/** Pushes and saves in an order that the seed decides. */
export async function runScene(seed: number, mode: 'async' | 'sync', look?: Look): Promise<void> {
  const scene = new Scene(seed, look);
  const { dice } = scene;
  const train = (): void => (mode === 'async' ? scene.push() : scene.round());
  for (let step = 0; step < 16; step++) {
    for (let times = dice.whole(0, 6); times > 0; times--) train();
    if (dice.chance(0.07)) await scene.reload();
    await scene.save(dice.chance(0.8), mode === 'sync', () => {
      if (dice.chance(0.5)) train();
    });
  }
}
