/** A pserver that leads all units of a small job, and the copies of them that another one holds. */

import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import { unitOf } from '../../../../src/core/units/units.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import { CopiedUnits } from '../../../../src/roles/pserver/replicas/copied-units.ts';
import { copyShard } from '../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingUnit } from '../../../../src/roles/pserver/transfer/incoming-unit.ts';
import { partOf } from '../../../../src/roles/pserver/update/parts.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { type OptimizerSpec, type TrainedSpec, trainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { Parameters } from '../../../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';
import * as fc from '../../../properties.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { blocksPart, everything, makeParameters, NORMAL, rowsPart } from '../../../tensor/fixture.ts';
import { firstHeads } from '../held/owned-heads.ts';

const WIDTH = 3;
const LAST_LENGTH = 16_384 - 100;
export const SPEC: ParameterSpec = {
  dense: [{ name: 'w', shape: [2 * 16_384 + LAST_LENGTH], initializer: NORMAL }],
  sparse: [{ name: 'rows', width: WIDTH, initializer: NORMAL }],
};
export const UNITS = [0, 1, 2];
/** Unit 0 has shards 0 and 3, unit 1 has 1 and 4, unit 2 has 2 and 5. */
const JOB = { shards: 6, units: UNITS.length, tasks: 3 };
const OF = { spec: SPEC, shards: JOB.shards, router: createIdRouter({ shards: JOB.shards }) };
const PUSHES = 4;
const RECORDS = 100;

export type Push = Extract<Update, { type: 'push' }>;

export interface Gradients {
  readonly ids: readonly number[];
  readonly block: number;
  readonly gradient: number;
}

export const anyGradients: fc.Arbitrary<Gradients> = fc.record({
  ids: fc.uniqueArray(fc.nat(60), { maxLength: 10 }),
  block: fc.nat(2),
  gradient: fc.integer({ min: -4, max: 4 }),
});

function partsOf({ ids, block, gradient }: Gradients): Pick<Push, 'dense' | 'sparse'> {
  const rows = ids.flatMap((id) => Array(WIDTH).fill(gradient + id / 8) as number[]);
  const floats = new Float32Array(block === 2 ? LAST_LENGTH : 16_384).fill(gradient);
  return { dense: [blocksPart(0, [block], floats)], sparse: [rowsPart(0, ids.map(BigInt), rows)] };
}

export class CopiedRig {
  readonly primary: OwnedShards;
  /** It leads nothing, and has the copies. */
  readonly backup: OwnedShards;
  readonly copies: CopiedUnits;
  readonly log = new MemoryLog();
  readonly memories: { readonly primary: Parameters; readonly backup: Parameters };
  readonly #spec: TrainedSpec;

  constructor(optimizer: OptimizerSpec) {
    this.#spec = trainedSpec(SPEC, { optimizer });
    const none = { ledgers: new Map(), seqs: new Map() };
    const all = makeParameters({ spec: SPEC, optimizer, shards: JOB.shards });
    const job = { ...JOB, spec: this.#spec };
    this.primary = new OwnedShards(job, firstHeads(UNITS), { parameters: all, ...none });
    const parameters = makeParameters({ spec: SPEC, optimizer, shards: JOB.shards, present: [] });
    this.memories = { primary: all, backup: parameters };
    this.backup = new OwnedShards(job, firstHeads([]), { parameters, ...none });
    const { log, backup: owned } = this;
    this.copies = new CopiedUnits({ log, owned });
  }

  shardsOf(units: readonly number[]): number[] {
    return units.flatMap((unit) => this.primary.shardsOf(unit));
  }

  /** Gives the units that it does not fit. */
  apply(units: readonly number[], update: Update): number[] {
    return this.copies.apply(units, { partOf: (some) => partOf(OF, update, this.shardsOf(some)) });
  }

  held(units: readonly number[]): number[] {
    return units.filter((unit) => this.copies.units().includes(unit));
  }

  /** The lowest push of the task that any of these units wants, applied to those of them that want it. */
  push(task: number, units: readonly number[], gradients: Gradients, rateScale = 1): Push | undefined {
    const { primary } = this;
    const wanted = primary.ledgers.applied(0, task, this.shardsOf(units)).map(({ next }) => next);
    if (wanted.length === 0) return undefined;
    const number = Math.min(...wanted);
    const push = { pass: 0, task, push: number, last: number === PUSHES - 1, good: 10 * (number + 1) };
    const verdict = primary.ledgers.judge(push, this.shardsOf(units));
    if (verdict.outcome !== 'apply') throw new Error('the push is the next one');
    const shards = verdict.shards ?? this.shardsOf(units);
    const update: Push = { type: 'push', push, shards, rateScale, ...partsOf(gradients) };
    primary.apply(partOf(OF, update, shards));
    return update;
  }

  close(task: number, units: readonly number[]): Update {
    const update: Update = { type: 'close', tasks: [{ pass: 0, task, records: RECORDS }] };
    this.primary.apply(update, this.shardsOf(units));
    return update;
  }

  unitsOf({ shards }: Push): number[] {
    return [...new Set(shards.map((shard) => unitOf(shard, UNITS.length)))].sort((a, b) => a - b);
  }

  adopt(unit: number): void {
    this.copies.adopt(unit, this.filled(unit).filled());
  }

  /** As it comes from the primary. */
  filled(unit: number): IncomingUnit {
    const incoming = new IncomingUnit({ held: this.backup.beside(), shards: this.backup.shardsOf(unit) });
    for (const shard of this.primary.shardsOf(unit)) {
      const pieces = copyShard(this.primary, shard, this.#spec, 500);
      for (const [at, piece] of pieces.entries()) incoming.put(shard, piece, at === 0, at === pieces.length - 1);
    }
    return incoming;
  }

  /** The backup leads the unit for a moment, with what its copy has; then it is a copy again. */
  leadAndLeave(unit: number): unknown {
    const { copies, backup } = this;
    const head = { ...takenBy({ index: 0, token: '7' }, undefined), epoch: 2, led: 2 };
    backup.add({ unit, head, modRevision: 2n }, copies.positions(unit), true);
    copies.release(unit);
    const moments = backup.shardsOf(unit).map((shard) => backup.momentOf(shard));
    copies.adopt(unit, { positions: backup.release(unit), rounds: undefined });
    return moments.map(({ seq, ledger }) => ({ seq, ledger: hexOf(ledger) }));
  }

  /** Positions and ledgers of a unit, at the primary and of the copy. */
  positionsOf(unit: number): { readonly led: unknown; readonly copied: unknown } {
    const shards = this.primary.shardsOf(unit);
    const { ledgers, seqs } = this.copies.positions(unit);
    return {
      led: shards
        .map((shard) => this.primary.momentOf(shard))
        .map(({ seq, ledger }) => ({ seq, ledger: hexOf(ledger) })),
      copied: shards.map((shard) => ({ seq: seqs.get(shard), ledger: hexOf(ledgers.get(shard)!) })),
    };
  }

  /** Values and state of the units that are copied, at the primary and here. */
  values(): { readonly led: unknown; readonly copied: unknown } {
    const shards = this.shardsOf(this.copies.units());
    const of = (parameters: Parameters): unknown =>
      (everything(parameters, SPEC.sparse.length) as { shard: number }[])
        .filter(({ shard }) => shards.includes(shard))
        .sort((a, b) => a.shard - b.shard);
    return { led: of(this.memories.primary), copied: of(this.memories.backup) };
  }
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
