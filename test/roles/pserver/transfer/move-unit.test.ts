/** A unit moves between the memories of two pservers while it is updated: both machines, with real parameters. */

import { describe, expect, it } from 'vitest';
import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import type { MoveAnswer, MoveMessage, MoveName } from '../../../../src/core/units/move-messages.ts';
import { MoveSource, type SourceEvent } from '../../../../src/core/units/move-source.ts';
import { MoveTarget, type TargetEvent } from '../../../../src/core/units/move-target.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import { type CopyPiece, copyShard, pieceBytes } from '../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingUnit } from '../../../../src/roles/pserver/transfer/incoming-unit.ts';
import { partOf } from '../../../../src/roles/pserver/update/parts.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { type OptimizerSpec, trainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';
import * as fc from '../../../properties.ts';
import { blocksPart, everything, makeParameters, NORMAL, rowsPart, SGD } from '../../../tensor/fixture.ts';
import { firstHeads } from '../held/owned-heads.ts';

const WIDTH = 3;
const BLOCKS = 6;
const SPEC: ParameterSpec = {
  dense: [{ name: 'w', shape: [BLOCKS * 16_384 - 100], initializer: NORMAL }],
  sparse: [
    { name: 'rows', width: WIDTH, initializer: NORMAL },
    { name: 'unused', width: 1, initializer: NORMAL },
  ],
};
const ADAM: OptimizerSpec = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };
const FTRL: OptimizerSpec = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.01, lambda2: 0.01 };
/** Unit 1 has shards 1 and 4. */
const JOB = { shards: 6, units: 3, tasks: 4 };
const OF = { spec: SPEC, shards: JOB.shards, router: createIdRouter({ shards: JOB.shards }) };
const UNIT = 1;
const NAME: MoveName = {
  purpose: 'lead',
  unit: UNIT,
  epoch: 1,
  source: { index: 0, token: '7' },
  target: { index: 1, token: '8' },
  attempt: 1,
};

type Payload = CopyPiece | Update;

function pserver(units: readonly number[], optimizer: OptimizerSpec): OwnedShards {
  const present = units.flatMap((unit) => [unit, unit + JOB.units]);
  const parameters = makeParameters({ spec: SPEC, optimizer, shards: JOB.shards, present });
  const job = { ...JOB, spec: trainedSpec(SPEC, { optimizer }) };
  return new OwnedShards(job, firstHeads(units), { parameters, ledgers: new Map(), seqs: new Map() });
}

class Move {
  readonly source: OwnedShards;
  readonly target: OwnedShards;
  readonly spec: ReturnType<typeof trainedSpec>;
  readonly #sourceSide = new MoveSource<Payload>(
    { name: NAME, shards: [1, 4], windowBytes: 5_000, silenceMs: 1_000, handOverMs: 1_000 },
    0,
  );
  readonly #targetSide = new MoveTarget<Payload>({ unit: UNIT, me: NAME.target, shards: [1, 4], silenceMs: 1_000 });
  incoming: IncomingUnit;
  readonly #messages: MoveMessage<Payload>[] = [];
  readonly #answers: MoveAnswer[] = [];
  readonly happened: string[] = [];
  readonly largest: number[] = [];
  #pushes = 0;

  constructor(optimizer: OptimizerSpec) {
    this.spec = trainedSpec(SPEC, { optimizer });
    this.source = pserver([0, 1, 2], optimizer);
    this.target = pserver([], optimizer);
    this.incoming = this.#fresh();
    const head = { epoch: 1, primary: NAME.source, inSync: [NAME.source] };
    this.#tell({ type: 'seen', head, isPrimaryAlive: true });
  }

  begin(): void {
    this.submit({ type: 'connected' });
  }

  /** The next push of task 0, to rows with these ids and a block. */
  push(ids: readonly number[], block: number, gradient: number): void {
    const push = { pass: 0, task: 0, push: this.#pushes++, last: false, good: this.#pushes };
    const verdict = this.source.ledgers.judge(push);
    if (verdict.outcome !== 'apply') throw new Error('the push is the next one');
    const distinct = [...new Set(ids)].map(BigInt);
    const rows = distinct.flatMap((id) => Array(WIDTH).fill(gradient + Number(id) / 8) as number[]);
    const length = block === BLOCKS - 1 ? 16_384 - 100 : 16_384;
    const sparse = [rowsPart(0, distinct, rows)];
    const dense = [blocksPart(0, [block], new Float32Array(length).fill(gradient))];
    const shards = verdict.shards ?? this.source.numbers;
    const update: Update = { type: 'push', push, shards, rateScale: 1, dense, sparse };
    this.source.apply(update);
    this.#applied(update);
  }

  close(task: number): void {
    const update: Update = { type: 'close', tasks: [{ pass: 0, task, records: 10 }] };
    this.source.apply(update);
    this.#applied(update);
  }

  #applied(update: Update): void {
    const payload = partOf(OF, update, [1, 4]);
    this.submit({ type: 'applied', payload, byteLength: 2_000, ticket: 0 });
  }

  submit(event: SourceEvent<Payload>): void {
    for (const effect of this.#sourceSide.step(event, 0)) {
      if (effect.type === 'send') this.#messages.push(effect.message);
      else if (effect.type === 'capture') {
        const copies = copyShard(this.source, effect.shard, this.spec, 1_000);
        this.largest.push(...copies.filter(({ header }) => header.part !== 'block').map(pieceBytes));
        const pieces = copies.map((payload) => ({ payload, byteLength: pieceBytes(payload) }));
        this.submit({ type: 'captured', shard: effect.shard, pieces });
      } else this.happened.push(effect.type);
    }
  }

  deliver(): void {
    const message = this.#messages.shift();
    if (message !== undefined) this.#tell(message.type === 'offer' ? { ...message, refusal: undefined } : message);
    const answer = this.#answers.shift();
    if (answer !== undefined) this.submit({ type: 'answer', answer });
  }

  settle(): void {
    while (this.#messages.length + this.#answers.length > 0) this.deliver();
  }

  discard(): void {
    this.incoming.discard();
    this.incoming = this.#fresh();
  }

  #fresh(): IncomingUnit {
    return new IncomingUnit({ held: this.target.beside(), shards: [1, 4] });
  }

  #tell(event: TargetEvent<Payload>): void {
    for (const effect of this.#targetSide.step(event, 0)) {
      if (effect.type === 'answer') this.#answers.push(effect.answer);
      else if (effect.type === 'put') {
        this.incoming.put(effect.shard, effect.payload as CopyPiece, effect.isFirst, effect.isLast);
      } else if (effect.type === 'apply') this.incoming.apply(effect.shards, effect.payload as Update);
      else this.happened.push(effect.type);
    }
  }
}

const momentsOf = (shards: OwnedShards): unknown =>
  [1, 4].map((shard) => {
    const { seq, ledger } = shards.momentOf(shard);
    return { seq, ledger: Buffer.from(ledger).toString('hex') };
  });

const valuesOf = ({ parameters }: OwnedShards): unknown =>
  (everything(parameters, SPEC.sparse.length) as { shard: number }[])
    .filter(({ shard }) => shard === 1 || shard === 4)
    .sort((a, b) => a.shard - b.shard);

describe('a unit that moves while it is updated', () => {
  const happening = fc.record({
    ids: fc.array(fc.nat(200), { maxLength: 20 }),
    block: fc.nat(BLOCKS - 1),
    gradient: fc.integer({ min: -4, max: 4 }),
    delivered: fc.nat(8),
    closes: fc.boolean(),
  });

  it.each([SGD, ADAM, FTRL])('is the same at the target, with state, positions and ledgers: $type', (optimizer) => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 15 }), fc.nat(15), (happenings, beginsAt) => {
        const move = new Move(optimizer);
        happenings.forEach(({ ids, block, gradient, delivered, closes }, at) => {
          if (at === beginsAt) move.begin();
          move.push(ids, block, gradient);
          if (closes) move.close(1 + (at % 3));
          for (let count = 0; count < delivered; count++) move.deliver();
        });
        if (beginsAt >= happenings.length) move.begin();
        move.settle();
        move.submit({ type: 'handOver' });
        move.settle();
        expect(move.happened.filter((one) => one !== 'acknowledge')).toEqual(['caughtUp', 'propose']);
        const head = takenBy(NAME.target, { epoch: 1 });
        move.target.add({ unit: UNIT, head, modRevision: 2n }, move.incoming.positions(), true);
        expect(momentsOf(move.target)).toEqual(momentsOf(move.source));
        expect(valuesOf(move.target)).toEqual(valuesOf(move.source));
        expect(Math.max(...move.largest)).toBeLessThanOrEqual(1_000);
      }),
      { numRuns: 30 },
    );
  });

  it('leaves no memory behind when its copy is discarded, complete or not', () => {
    const move = new Move(SGD);
    const before = move.target.parameters.stats().bytes;
    move.push([1, 2, 3, 4, 5, 6, 7, 8], 0, 1);
    move.begin();
    move.deliver();
    move.deliver();
    expect(move.target.parameters.shards().length).toBeGreaterThan(0);
    move.discard();
    expect(move.target.parameters.shards()).toEqual([]);
    expect(move.target.parameters.stats().bytes).toBe(before);
  });
});

describe('a copy that does not fit', () => {
  const fresh = (): IncomingUnit => new Move(SGD).incoming;
  const ledger = (shard: number): CopyPiece => copyShard(pserver([0, 1, 2], SGD), shard, trained, 1_000).at(-1)!;
  const trained = trainedSpec(SPEC, { optimizer: SGD });
  const floats = (count: number): Uint8Array => new Uint8Array(4 * count);
  const push = (number: number): Update => ({
    type: 'push',
    push: { pass: 0, task: 0, push: number, last: false, good: number },
    shards: [1],
    rateScale: 1,
    dense: [],
    sparse: [],
  });

  it.each<[string, CopyPiece]>([
    ['rows without values', { header: { part: 'rows', table: 0 }, segments: [new Uint8Array(8)] }],
    ['rows with too few values', { header: { part: 'rows', table: 0 }, segments: [new Uint8Array(8), floats(2)] }],
    ['rows with state', { header: { part: 'rows', table: 0 }, segments: [new Uint8Array(8), floats(3), floats(3)] }],
    ['half an id', { header: { part: 'rows', table: 0 }, segments: [new Uint8Array(12), floats(3)] }],
    ['no segment', { header: { part: 'block', parameter: 0, block: 0 }, segments: [] }],
    ['a block of another length', { header: { part: 'block', parameter: 0, block: 0 }, segments: [floats(5)] }],
    ['an unknown block', { header: { part: 'block', parameter: 0, block: 99 }, segments: [floats(16_384)] }],
    ['an unknown table', { header: { part: 'rows', table: 9 }, segments: [new Uint8Array(8), floats(3)] }],
    ['an unknown parameter', { header: { part: 'block', parameter: 9, block: 0 }, segments: [floats(5)] }],
  ])('refuses %s', (_, piece) => {
    expect(() => fresh().put(1, piece, true, false)).toThrow(/piece|block|model|shard/);
  });

  it('refuses a shard without a ledger, and a damaged ledger', () => {
    const rows: CopyPiece = { header: { part: 'rows', table: 0 }, segments: [new Uint8Array(0), floats(0)] };
    expect(() => fresh().put(1, rows, true, true)).toThrow('has no ledger');
    const damaged: CopyPiece = { header: { part: 'ledger', seq: 0 }, segments: [new Uint8Array(9)] };
    expect(() => fresh().put(1, damaged, true, true)).toThrow(/ledger/);
  });

  it('refuses an update that its ledgers do not want, or want and do not get', () => {
    const incoming = fresh();
    incoming.put(1, ledger(1), true, true);
    expect(() => incoming.apply([1], push(1))).toThrow('does not fit');
    expect(() => incoming.apply([1], { ...push(0), shards: [] } as Update)).toThrow('does not fit');
    incoming.apply([1], push(0));
    expect(() => incoming.apply([1], push(0))).toThrow('does not fit');
    incoming.apply([1], { ...push(0), shards: [] } as Update);
    expect(incoming.positions().seqs).toEqual(new Map([[1, 1]]));
  });
});
