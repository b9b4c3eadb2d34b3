/** Rounds of one pserver or of several, with what trainers push to them, for tests in which units move. */
import { expect } from 'vitest';
import { takenBy } from '../../../../../src/cluster/placement/heads.ts';
import { shardsOfUnits } from '../../../../../src/core/units/units.ts';
import type { RoundsOptions } from '../../../../../src/roles/pserver/modes/rounds/rounds.ts';
import { blockLength, blockShards } from '../../../../../src/tensor/blocks.ts';
import { hasLearningRate, type OptimizerSpec } from '../../../../../src/tensor/optimizer.ts';
import type { Parameters } from '../../../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../../../src/tensor/shard-hash.ts';
import { everything, HIGHEST, makeParameters } from '../../../../tensor/fixture.ts';
import { hexOf, laneFor, type PlainLane, ROUND_SPEC } from '../../../../tensor/rounds.ts';
import { RoundsRig } from './rounds-rig.ts';

/** Each is a unit. */
export const SHARDS = 4;
export const ALL = [0, 1, 2, 3];
export const LANES = 3;
export const ROUNDS = 4;
/** Two passes: in each a task a lane, of so many pushes. */
const PUSHES = ROUNDS / 2;

/** Ids that rounds touch, and some that none does. */
export const IDS = [...Array.from({ length: 34 }, (_, id) => BigInt(id)), HIGHEST, 2n ** 63n];
const EMPTY: PlainLane = { records: 0, dense: [], sparse: [] };

export type PlayedRounds = readonly (readonly PlainLane[])[];

/** What a round has of the learning rate, where there is one. */
export const rateShareFor =
  (optimizer: OptimizerSpec) =>
  (round: number): number =>
    hasLearningRate(optimizer) ? 1 / (1 + round) : 1;

/** What a shard has, apart from its epoch. */
interface ShardState {
  readonly values: unknown;
  readonly seq: number;
  readonly ledger: string;
}

export class PlayedPserver {
  readonly rig: RoundsRig;
  readonly parameters: Parameters;
  readonly #rounds: PlayedRounds;

  constructor(
    optimizer: OptimizerSpec,
    rounds: PlayedRounds,
    held: readonly number[] = ALL,
    units = SHARDS,
    replicas?: RoundsOptions['replicas'],
  ) {
    this.#rounds = rounds;
    const present = shardsOfUnits(held, { shards: SHARDS, units });
    this.parameters = makeParameters({ spec: ROUND_SPEC, optimizer, seed: 3, shards: SHARDS, present });
    const { parameters } = this;
    const job = { spec: ROUND_SPEC, shards: SHARDS, units, lanes: LANES, tasks: LANES };
    const rateShareOf = rateShareFor(optimizer);
    this.rig = new RoundsRig({
      ...job,
      parameters,
      held,
      ...{ rateShareOf, optimizer },
      ...(replicas === undefined ? {} : { replicas }),
    });
  }

  get rounds() {
    return this.rig.rounds;
  }

  get held(): readonly number[] {
    return this.rig.shards.numbers;
  }

  get version(): number {
    return this.rounds.gates.version();
  }

  push(round: number, lane: number): 'taken' | 'duplicate' {
    const pass = Math.floor(round / PUSHES);
    const push = round % PUSHES;
    const recordsOf = (at: number): number => this.#rounds[at]?.[lane]?.records ?? 0;
    const good = Array.from({ length: push + 1 }, (_, at) => recordsOf(pass * PUSHES + at)).reduce((a, b) => a + b);
    const plain = this.#rounds[round]?.[lane] ?? EMPTY;
    const { records } = plain;
    const header = {
      ...{
        round,
        lane,
        metrics: { records, weight: records, loss: records / 7, correct: records, squaredError: records / 3 },
      },
      batch: { pass, task: lane, push, last: push === PUSHES - 1, good },
    };
    return this.rig.push(header, laneFor(ROUND_SPEC, plain, { shards: SHARDS, held: this.held }));
  }

  /** Completes the round. */
  pushMissing(): void {
    const { version } = this;
    for (const lane of this.rounds.gates.missing()) if (this.version === version) this.push(version, lane);
    expect(this.version).toBe(version + 1);
  }

  /** As to another pserver and back: what was taken of the round is gone. */
  leaveAndReturn(unit: number): void {
    const state = this.rounds.stateOf(unit);
    this.rounds.remove(unit);
    this.rounds.add(unit, state);
  }

  /** Everything of a version that can be pulled here, by name. */
  async pulled(version: number): Promise<Map<string, string>> {
    const blocks = ROUND_SPEC.dense.map((dense) =>
      [...blockShards(dense, SHARDS).entries()]
        .filter(([, shard]) => this.held.includes(shard))
        .map(([block]) => block),
    );
    const ids = ROUND_SPEC.sparse.map(({ name }) =>
      IDS.filter((id) => this.held.includes(shardOfRow(name, id, SHARDS))),
    );
    const answer = await this.rig.pull(version, { blocks, ids }, { maxWaitMs: 0 });
    const named = new Map<string, string>();
    const put = (names: readonly string[], from: Float32Array, widths: readonly number[]): void => {
      let at = 0;
      names.forEach((name, i) => {
        named.set(name, hexOf(from.slice(at, at + widths[i]!)));
        at += widths[i]!;
      });
    };
    ROUND_SPEC.dense.forEach((dense, p) => {
      const names = blocks[p]!.map((block) => `${dense.name} ${block}`);
      put(
        names,
        answer[p]!,
        blocks[p]!.map((block) => blockLength(dense, block)),
      );
    });
    ROUND_SPEC.sparse.forEach(({ name, width }, t) => {
      const names = ids[t]!.map((id) => `${name} ${id}`);
      put(
        names,
        answer[ROUND_SPEC.dense.length + t]!,
        names.map(() => width),
      );
    });
    return named;
  }

  states(): Map<number, ShardState> {
    const values = everything(this.parameters, ROUND_SPEC.sparse.length) as { readonly shard: number }[];
    return new Map(
      this.held.map((shard) => {
        const { seq, ledger } = this.rig.shards.momentOf(shard);
        const own = values.find((one) => one.shard === shard);
        return [shard, { values: own, seq, ledger: Buffer.from(ledger).toString('hex') }];
      }),
    );
  }
}

/** The shard of unit `unit`, with all that belongs to it; the lanes of the round are left behind. */
export function moveUnit(from: PlayedPserver, to: PlayedPserver, unit: number, epoch: number): void {
  const state = from.rounds.stateOf(unit);
  const { seq, ledger } = from.rig.shards.momentOf(unit);
  to.parameters.addShard(unit);
  ROUND_SPEC.sparse.forEach((_, table) => {
    to.parameters.importRows(unit, table, from.parameters.exportRows(unit, table));
  });
  for (const block of from.parameters.exportBlocks(unit)) to.parameters.importBlock(unit, block);
  from.rig.shards.remove(unit);
  from.rounds.remove(unit);
  const head = { ...takenBy({ index: 0, token: '7' }, undefined), epoch, led: epoch };
  const positions = { ledgers: new Map([[unit, ledger]]), seqs: new Map([[unit, seq]]) };
  to.rig.shards.add({ unit, head, modRevision: BigInt(epoch) }, positions, true);
  to.rounds.add(unit, state);
}

export interface AtVersion {
  readonly pulled: ReadonlyMap<string, string>;
  readonly states: ReadonlyMap<number, ShardState>;
  readonly metrics: unknown;
}

/** What each version is when all units are together all the time. */
export async function undisturbed(optimizer: OptimizerSpec, rounds: PlayedRounds): Promise<AtVersion[]> {
  const pserver = new PlayedPserver(optimizer, rounds);
  const versions: AtVersion[] = [];
  for (;;) {
    const metrics = pserver.rounds.metrics();
    versions.push({ pulled: await pserver.pulled(pserver.version), states: pserver.states(), metrics });
    if (pserver.version === ROUNDS) return versions;
    pserver.pushMissing();
  }
}
