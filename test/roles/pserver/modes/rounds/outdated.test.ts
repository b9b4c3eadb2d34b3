/** Sync mode: a unit is handed over while all pservers go back to a cut. */
import { beforeEach, expect, it } from 'vitest';
import { takenBy } from '../../../../../src/cluster/placement/heads.ts';
import type { MoveContent, MoveName } from '../../../../../src/core/units/move-messages.ts';
import { copyShard } from '../../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingMove } from '../../../../../src/roles/pserver/transfer/incoming-move.ts';
import type { MovePayload } from '../../../../../src/roles/pserver/transfer/outgoing-move.ts';
import { roundsPieces } from '../../../../../src/roles/pserver/transfer/rounds-pieces.ts';
import { trainedSpec } from '../../../../../src/tensor/optimizer.ts';
import { RecordingLog } from '../../../../store/support.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { ROUND_SPEC } from '../../../../tensor/rounds.ts';
import { LANES, PlayedPserver, type PlayedRounds, ROUNDS } from './played.ts';

const UNIT = 1;
const SOURCE = { index: 0, token: '7' };
const TARGET = { index: 1, token: '9' };
const NAME: MoveName = { purpose: 'lead', unit: UNIT, epoch: 1, source: SOURCE, target: TARGET, attempt: 1 };
const [optimizer] = OPTIMIZERS;
const SPEC = trainedSpec(ROUND_SPEC, { optimizer: optimizer! });
const NONE: PlayedRounds = Array.from({ length: ROUNDS }, () =>
  Array.from({ length: LANES }, () => ({ records: 0, dense: [], sparse: [] })),
);

let from: PlayedPserver;
let to: PlayedPserver;
let incoming: IncomingMove;
/** Of the target. */
let timeline: number | undefined;
let outdated: number[];
let frames: number;
let name: MoveName;

/** A move for `copy` is kept, not led. */
let kept: number[];

beforeEach(() => {
  [timeline, outdated, frames, kept] = [0, [], 0, []];
  from = new PlayedPserver(optimizer!, NONE, [0, 1], 2);
  to = new PlayedPserver(optimizer!, NONE, [], 2);
  const { clock, shards } = to.rig;
  incoming = new IncomingMove({
    ...{ clock, log: new RecordingLog(), unit: UNIT, me: TARGET, owned: shards },
    ...{ silenceMs: 1_000, look: () => {}, onLost: () => {} },
    keeper: {
      role: () => 'none',
      adopt: ({ unit }, { rounds }) => {
        expect(rounds).toMatchObject({ timeline: 0, version: 1 });
        kept.push(unit);
      },
      abandoned: () => {},
    },
    rounds: {
      timeline: () => timeline,
      stateOf: (unit, of) => to.rounds.stateOf(unit, of),
      add: (unit, rounds) => to.rounds.add(unit, rounds),
      remove: (unit) => to.rounds.remove(unit),
      outdated: ({ unit }) => void outdated.push(unit),
      hasOutdated: () => outdated.length > 0,
    },
  });
  incoming.seen({ unit: UNIT, head: takenBy(SOURCE, undefined), modRevision: 1n }, true);
  offer(NAME);
});

function offer(one: MoveName): void {
  [name, frames] = [one, 0];
  incoming.received({ type: 'offer', name, refusal: undefined });
}

const send = (content: MoveContent<MovePayload>): unknown[] =>
  incoming.received({ type: 'frame', frame: { name, number: frames++, content } });

/** The whole copy, and its seal. */
function copyAll(): unknown[] {
  copyShards();
  return send({ type: 'seal', position: 0 });
}

function copyShards(): void {
  const { shards } = from.rig;
  for (const shard of shards.shardsOf(UNIT)) {
    const ofRounds = roundsPieces(ROUND_SPEC, from.rounds.stateOf(UNIT, [shard]), 1_000);
    const pieces = copyShard(shards, shard, SPEC, 1_000, ofRounds);
    for (const [at, payload] of pieces.entries()) {
      send({ type: 'piece', shard, isLast: at === pieces.length - 1, position: 0, payload });
    }
  }
}

const handOver = (): void => {
  const head = takenBy(TARGET, { epoch: 1 });
  incoming.seen({ unit: UNIT, head, modRevision: 2n }, true);
};

it('a unit that has come is at the version that it had', () => {
  from.pushMissing();
  copyAll();
  handOver();
  expect([to.held, to.version, outdated]).toEqual([[1, 3], 1, []]);
});

it.each([1, undefined])('a copy from before a rise of the timeline to %s is not led, and leaves nothing', (now) => {
  copyAll();
  timeline = now;
  handOver();
  expect([outdated, to.held, to.parameters.shards()]).toEqual([[UNIT], [], []]);
});

it('a backup copy is kept at the version that it had', () => {
  from.pushMissing();
  offer({ ...NAME, purpose: 'copy', attempt: 2 });
  expect(copyAll()).toEqual([expect.objectContaining({ type: 'sealed' })]);
  expect([kept, to.parameters.shards()]).toEqual([[UNIT], [1, 3]]);
});

it.each([1, undefined])('a backup copy is not kept when the timeline has risen to %s', (now) => {
  offer({ ...NAME, purpose: 'copy', attempt: 2 });
  copyShards();
  timeline = now;
  expect(send({ type: 'seal', position: 0 })).toEqual([expect.objectContaining({ type: 'refused' })]);
  expect([kept, to.parameters.shards()]).toEqual([[], []]);
});

it('a copy of another timeline is refused before it is sealed', () => {
  timeline = 1;
  expect(copyAll()).toEqual([expect.objectContaining({ type: 'refused' })]);
  expect(to.parameters.shards()).toEqual([]);
});
