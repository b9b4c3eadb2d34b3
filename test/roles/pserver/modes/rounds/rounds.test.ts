/** Lanes, pulls of versions and cuts as a pserver in sync mode answers them (docs/protocol.md). */
import { beforeEach, describe, expect, it } from 'vitest';
import type { OptimizerSpec } from '../../../../../src/tensor/optimizer.ts';
import type { LaneGradients, Parameters } from '../../../../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../../../../src/tensor/spec.ts';
import { blocksPart, everything, makeParameters, pullRows, rowsPart } from '../../../../tensor/fixture.ts';
import { type LaneHeader, RoundsRig } from './rounds-rig.ts';

const SPEC: ParameterSpec = {
  dense: [{ name: 'bias', shape: [2], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'rows', width: 1, initializer: { type: 'constant', value: 10 } }],
};
const SGD: OptimizerSpec = { type: 'sgd', learningRate: 1, l2: 0 };
const SHARDS = 4;
const HELD = [0, 1, 2, 3];
const NOTHING: LaneGradients = { records: 0, dense: [], sparse: [] };

let parameters: Parameters;
let rig: RoundsRig;

beforeEach(() => {
  parameters = makeParameters({ spec: SPEC, optimizer: SGD, shards: SHARDS });
  rig = new RoundsRig({ spec: SPEC, parameters, held: HELD, shards: SHARDS, lanes: 2, tasks: 4 });
});

/** Gradients of so many records: of both biases, and of row 7. */
const gradients = (records: number, bias: number, row: number): LaneGradients => ({
  records,
  dense: [blocksPart(0, [0], Float32Array.of(bias, bias))],
  sparse: [rowsPart(0, [7n], [row])],
});

/** Lane `lane` works task `lane`, whose pushes are the rounds. */
const header = (round: number, lane: number, records = 1): LaneHeader => ({
  round,
  lane,
  batch: { pass: 0, task: lane, push: round, last: false, good: (round + 1) * records },
  metrics: { records, weight: records, loss: round, correct: 0, squaredError: 0 },
});

function playRound(round: number): void {
  for (const lane of [1, 0]) rig.push(header(round, lane), gradients(1, lane, 1));
}

const code = (name: string, details: object = {}): unknown =>
  expect.objectContaining({ code: name, details: expect.objectContaining(details) });
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let isSettled = false;
  promise.then(
    () => {
      isSettled = true;
    },
    () => {
      isSettled = true;
    },
  );
  await rig.clock.advance(0);
  return isSettled;
};
const untouched = (act: () => unknown): void => {
  const before = everything(parameters, 1);
  act();
  expect(everything(parameters, 1)).toEqual(before);
};

describe('a round', () => {
  it('is applied when its last lane has arrived, as one update by the mean over its records', () => {
    untouched(() => expect(rig.push(header(0, 1, 3), gradients(3, 2, 4))).toBe('taken'));
    expect(rig.push(header(0, 0), gradients(1, -2, 0))).toBe('taken');
    expect(rig.rounds.gates.version()).toBe(1);
    expect([...pullRows(parameters, 0, [7n], 1)]).toEqual([10 - 3]);
    expect(parameters.readBlock(0, 0).values).toEqual(Float32Array.of(-1, -1));
    expect(rig.ledger.position(0, 0)).toBe(1);
    expect(rig.ledger.account()).toMatchObject({ applied: 4 });
    const sums = { pass: 0, records: 4, weight: 4, loss: 0, correct: 0, squaredError: 0 };
    expect(rig.rounds.metrics()).toEqual([sums, { ...sums, version: 1 }]);
  });

  it('takes each lane once; what comes again is counted, and changes nothing', () => {
    rig.push(header(0, 0, 5), gradients(5, 1, 1));
    expect(rig.push(header(0, 0, 5), gradients(5, 1, 1))).toBe('duplicate');
    rig.push(header(0, 1), gradients(1, 1, 1));
    untouched(() => expect(rig.push(header(0, 1), gradients(1, 1, 1))).toBe('duplicate'));
    expect(rig.rounds.observed()).toEqual({ received: 12, duplicate: 6 });
    expect(rig.ledger.account()).toMatchObject({ applied: 6 });
  });

  it('counts a lane that comes again once for each round: a trainer cannot make the count grow by itself', () => {
    for (let round = 0; round < 2; round++) {
      rig.push(header(round, 0, 5), gradients(5, 1, 1));
      for (let i = 0; i < 4; i++) rig.push(header(round, 0, 5), gradients(5, 1, 1));
      rig.push(header(round, 1), gradients(1, 1, 1));
    }
    for (let i = 0; i < 4; i++) rig.push(header(0, 0, 5), gradients(5, 1, 1));
    expect(rig.rounds.observed()).toMatchObject({ duplicate: 2 * 5 });
  });

  it('without any record only advances the version', () => {
    untouched(() => {
      rig.push({ round: 0, lane: 0 }, NOTHING);
      // A mini-batch of bad records: the ledger moves on all the same.
      rig.push({ ...header(0, 1, 0), batch: { pass: 0, task: 1, push: 0, last: true, good: 0 } }, NOTHING);
    });
    expect(rig.rounds.gates.version()).toBe(1);
    expect(rig.ledger.position(0, 1)).toBe(-1);
  });

  it('keeps what it took, whatever becomes of the memory in which it arrived', () => {
    const lane = gradients(1, 1, 1);
    rig.push(header(0, 0), lane);
    for (const { gradients: bytes } of [...lane.dense, ...lane.sparse]) bytes.fill(0xff);
    lane.sparse[0]!.ids.fill(0);
    rig.push(header(0, 1), gradients(1, 1, 1));
    expect([...pullRows(parameters, 0, [7n, 0n], 1)]).toEqual([9, 10]);
  });

  it('that has not begun, or is of another timeline, is refused', () => {
    expect(() => rig.push(header(1, 0), gradients(1, 1, 1))).toThrow(code('RoundAhead', { version: 0 }));
    expect(() => rig.push({ ...header(0, 0), timeline: 1 }, gradients(1, 1, 1))).toThrow(
      code('StaleTimeline', { timeline: 0 }),
    );
    expect(rig.rounds.observed()).toEqual({ received: 0, duplicate: 0 });
  });
});

describe('a lane that could not be applied', () => {
  const nan = Number.NaN;
  it.each<readonly [string, LaneHeader, LaneGradients]>([
    ['a lane that the job does not have', header(0, 2), gradients(1, 1, 1)],
    ['records of no mini-batch', { round: 0, lane: 0 }, gradients(1, 1, 1)],
    ['gradients of no record', header(0, 0, 0), { ...gradients(1, 1, 1), records: 0 }],
    [
      'a push that is not the next one',
      { ...header(0, 0), batch: { pass: 0, task: 0, push: 1, last: false, good: 1 } },
      gradients(1, 1, 1),
    ],
    ['not all blocks', header(0, 0), { ...gradients(1, 1, 1), dense: [] }],
    [
      'a block twice',
      header(0, 0),
      { ...gradients(1, 1, 1), dense: [...gradients(1, 1, 1).dense, ...gradients(1, 1, 1).dense] },
    ],
    ['gradients of another size', header(0, 0), { ...gradients(1, 1, 1), sparse: [rowsPart(0, [7n], [1, 1])] }],
    ['no table', header(0, 0), { ...gradients(1, 1, 1), sparse: [rowsPart(1, [7n], [1])] }],
    ['a gradient that is no number', header(0, 0), gradients(1, 1, nan)],
  ])('%s: is refused when it arrives, and the round waits for it', (_, head, lane) => {
    untouched(() => expect(() => rig.push(head, lane)).toThrow());
    expect(rig.rounds.gates.missing()).toEqual([0, 1]);
    playRound(0);
    expect(rig.rounds.gates.version()).toBe(1);
    expect(rig.failures).toEqual([]);
  });
});

describe('a pull', () => {
  it('waits for its version', async () => {
    const pulling = rig.pull(1, { blocks: [[0]], ids: [[7n, 8n]] });
    expect(await settled(pulling)).toBe(false);
    rig.push(header(0, 0), gradients(1, 2, 2));
    expect(await settled(pulling)).toBe(false);
    rig.push(header(0, 1), gradients(1, 2, 2));
    expect((await pulling).map((values) => [...values])).toEqual([
      [-2, -2],
      [8, 10],
    ]);
  });

  it('says how long it waited for lanes, and not what came after the last of them', async () => {
    rig.push(header(0, 0), gradients(1, 1, 1));
    await rig.clock.advance(100);
    const pulling = rig.pull(1);
    await rig.clock.advance(30);
    let isOver = false;
    const handOver = Promise.withResolvers<void>();
    rig.moves = { ...rig.moves, wait: () => (isOver ? undefined : handOver.promise) };
    rig.push(header(0, 1), gradients(1, 1, 1));
    await rig.clock.advance(400);
    isOver = true;
    handOver.resolve();
    await pulling;
    expect(rig.waitedMs).toBe(30);
    await rig.clock.advance(100);
    await rig.pull(1);
    expect(rig.waitedMs).toBe(0);
  });

  it('that waits too long is told which lanes are missing', async () => {
    rig.push(header(0, 0), gradients(1, 1, 1));
    const pulling = expect(rig.pull(1, {}, { maxWaitMs: 500 })).rejects.toMatchObject(
      code('VersionPending', { version: 0, missing: [1] }) as object,
    );
    await rig.clock.advance(500);
    await pulling;
    await expect(rig.pull(1, {}, { maxWaitMs: 0 })).rejects.toMatchObject({ code: 'VersionPending' });
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('gets the version before, until a lane of the next round arrives', async () => {
    const wanted = { blocks: [[0]], ids: [[7n]] };
    playRound(0);
    playRound(1);
    const [bias, rows] = await rig.pull(1, wanted);
    expect([[...bias!], [...rows!]]).toEqual([[-0.5, -0.5], [9]]);
    expect((await rig.pull(2, wanted)).map((values) => [...values])).toEqual([[-1, -1], [8]]);
    expect((await rig.position()).header).toMatchObject({ version: 2, oldest: 1 });
    await expect(rig.pull(0)).rejects.toMatchObject({ code: 'VersionGone', details: { version: 2 } });
    rig.push(header(2, 1), gradients(1, 1, 1));
    await expect(rig.pull(1)).rejects.toMatchObject({ code: 'VersionGone' });
    expect((await rig.position()).header).toMatchObject({ version: 2, oldest: 2, missing: [0] });
  });

  it('of another timeline is refused; so is every one without the lease, also one that has waited', async () => {
    await expect(rig.pull(0, {}, { timeline: 1 })).rejects.toMatchObject({ code: 'StaleTimeline' });
    const waiting = expect(rig.pull(1)).rejects.toMatchObject({ code: 'Suspended' });
    rig.isHeld = false;
    playRound(0);
    await waiting;
  });

  it('creates no row', async () => {
    await rig.pull(0, { ids: [[1n, 2n]] });
    expect(parameters.sortedIds(0)).toHaveLength(0);
  });

  it('is over when its connection is, or the pserver leaves', async () => {
    const gone = expect(rig.pull(1)).rejects.toMatchObject({ code: 'VersionPending' });
    rig.closeSession();
    await gone;
    const left = expect(rig.pull(1)).rejects.toMatchObject({ code: 'Draining' });
    rig.rounds.close();
    await left;
    expect(rig.clock.pendingTimers).toBe(0);
  });
});

describe('the position', () => {
  it('is told at once, or when it is above what is known, or after so long', async () => {
    expect((await rig.position()).header).toEqual({
      ...{ type: 'rounds', timeline: 0, version: 0, oldest: 0, missing: [0, 1] },
    });
    const waiting = rig.position(0);
    rig.push(header(0, 1), gradients(1, 1, 1));
    expect(await settled(waiting)).toBe(false);
    rig.push(header(0, 0), gradients(1, 1, 1));
    expect((await waiting).header).toMatchObject({ version: 1 });
    const late = rig.position(1, 1_000);
    rig.push(header(1, 1), gradients(1, 1, 1));
    await rig.clock.advance(1_000);
    expect((await late).header).toMatchObject({ version: 1, missing: [0] });
  });
});

describe('a cut', () => {
  const FILE = { uuid: '6f8d2c1a-0000-4000-8000-00000000000a', md5: 'a'.repeat(32), bytes: 5, rows: 1, positions: [] };

  it('is of the shards as they are at its round, even as later rounds are applied; asked again, it is the same', async () => {
    const cutting = rig.cut(1);
    expect(rig.saves).toEqual([]);
    playRound(0);
    expect(await settled(cutting)).toBe(false);
    const then = everything(parameters, 1);
    const [save] = rig.saves;
    expect(save!.source.rounds).toMatchObject({
      round: 1,
      metrics: [
        { pass: 0, records: 2 },
        { version: 1, records: 2 },
      ],
    });
    playRound(1);
    playRound(2);
    const { parameters: view } = save!.source;
    const captured = {
      shards: () => HELD,
      exportRows: (shard: number, table: number) => view.exportRows(shard, table),
      exportBlocks: (shard: number) => view.exportBlocks(shard),
    } as Parameters;
    expect(everything(captured, 1)).toEqual(then);
    expect(everything(parameters, 1)).not.toEqual(then);
    expect(save!.source.momentOf(2)).toMatchObject({ shard: 2, seq: 1 });
    const again = rig.cut(1);
    save!.end.resolve(FILE);
    const { uuid, md5, bytes } = FILE;
    for (const one of [cutting, again]) {
      expect(await one).toMatchObject({ type: 'cut', outcome: 'saved', saved: { uuid, md5, bytes } });
    }
    expect(rig.saves).toHaveLength(1);
  });

  it('of the round in work begins at once, if none of it was applied', async () => {
    playRound(0);
    rig.push(header(1, 0), gradients(1, 1, 1));
    const cutting = rig.cut(1);
    expect(rig.saves).toHaveLength(1);
    rig.saves[0]!.end.resolve(FILE);
    expect(await cutting).toMatchObject({ outcome: 'saved' });
  });

  it('that is past, or of another timeline, is declined', async () => {
    playRound(0);
    playRound(1);
    expect(await rig.cut(1)).toEqual({ type: 'cut', outcome: 'declined', version: 2 });
    expect(await rig.cut(5, 1)).toMatchObject({ outcome: 'declined' });
    expect(rig.saves).toEqual([]);
  });

  it('that is not reached for long is declined, and not taken later', async () => {
    const cutting = rig.cut(1);
    await rig.clock.advance(60_000);
    expect(await cutting).toMatchObject({ outcome: 'declined' });
    playRound(0);
    expect(rig.saves).toEqual([]);
  });

  it('that could not be saved may be asked for again', async () => {
    const failing = expect(rig.cut(0)).rejects.toThrow('disk full');
    rig.saves[0]!.end.reject(new Error('disk full'));
    await failing;
    const again = rig.cut(0);
    rig.saves[1]!.end.resolve(FILE);
    expect(await again).toMatchObject({ outcome: 'saved' });
  });
});

describe('a pserver that leaves', () => {
  it('takes no lane and begins no cut', async () => {
    playRound(0);
    rig.isFrozen = true;
    untouched(() => expect(() => rig.push(header(1, 0), gradients(1, 1, 1))).toThrow(code('Draining')));
    expect(rig.push(header(0, 0), gradients(1, 1, 1))).toBe('duplicate');
    await expect(rig.cut(2)).rejects.toMatchObject({ code: 'Draining' });
    // What it has can still be read.
    expect(await rig.pull(1, { ids: [[7n]] })).toHaveLength(1);
  });
});

it('a sum that overflows ends the job, and nothing of the round was applied', () => {
  const most = 3e38;
  rig.push(header(0, 0, 2), gradients(2, most, 1));
  untouched(() => expect(() => rig.push(header(0, 1, 2), gradients(2, most, 1))).toThrow(code('BadGradient')));
  expect(rig.failures).toMatchObject([{ code: 'BadGradient' }]);
});
