/**
 * Frames of the copies of units, and the answers to them, as rows of numbers (docs/protocol.md). A push has one for
 * each unit: as maps in the header they would cost more than the rest of a small push.
 */
import { unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { ReplicaAnswer, ReplicaFrame, UpdateName } from '../../../core/replicas/messages.ts';
import type { BatchAnswer } from '../../../core/replicas/peer-link.ts';
import { packRows, unpackRows } from './number-rows.ts';

/** A frame of one unit in one epoch. A stage lacks its payload: all those of a batch have the same. */
export interface UnitFrame {
  readonly unit: number;
  readonly epoch: number;
  readonly frame: FrameOfRow;
}

type FrameOfRow =
  | Exclude<ReplicaFrame<never>, { type: 'stage' }>
  | { readonly type: 'stage'; readonly name: UpdateName; readonly committed: number };

const KIND = { begin: 1, stage: 2, commit: 3 } as const;
const FRAME_COLUMNS = 6;
const TAIL_COLUMNS = 2;

// ---- frames

export interface FrameSegments {
  /** kind, unit, epoch; then base, committed and runs, or position, its epoch and committed, or committed. */
  readonly frames: Uint8Array;
  /** The runs of the tails of the beginnings, one tail after the other: epoch, how many updates. */
  readonly tails: Uint8Array;
}

export function packFrames(frames: readonly UnitFrame[]): FrameSegments {
  const tails: number[][] = [];
  const rows = frames.map(({ unit, epoch, frame }): number[] => {
    const { type, committed } = frame;
    switch (type) {
      case 'begin': {
        const runs = runsOf(frame.tail);
        tails.push(...runs);
        return [KIND.begin, unit, epoch, frame.base, committed, runs.length];
      }
      case 'stage':
        return [KIND.stage, unit, epoch, frame.name.position, frame.name.epoch, committed];
      case 'commit':
        return [KIND.commit, unit, epoch, committed, 0, 0];
      default:
        return unreachable(type);
    }
  });
  return { frames: packRows(rows), tails: packRows(tails) };
}

/** The positions of a tail follow each other: epochs, and how many updates of each. */
function runsOf(tail: readonly UpdateName[]): number[][] {
  const runs: [epoch: number, updates: number][] = [];
  for (const { epoch } of tail) {
    const run = runs.at(-1);
    if (run?.[0] === epoch) run[1] += 1;
    else runs.push([epoch, 1]);
  }
  return runs;
}

/** Throws `BadMessage`. `units`: of the job. */
export function unpackFrames(units: number, segments: FrameSegments): UnitFrame[] {
  const tails = unpackTails(segments.tails);
  const seen = new Set<number>();
  const frames = unpackRows(segments.frames, FRAME_COLUMNS, units).map((row): UnitFrame => {
    const [kind, unit, epoch, ...rest] = row as Row;
    if (unit >= units || seen.has(unit)) throw bad(`a frame of unit ${unit}: the job has ${units}, each comes once`);
    if (epoch === 0) throw bad(`a frame of unit ${unit} is of no epoch`);
    seen.add(unit);
    return { unit, epoch, frame: frameOf(kind, epoch, rest, tails) };
  });
  if (tails.length > 0) throw bad('there are tails of no beginning');
  return frames;
}

type Row = [kind: number, unit: number, epoch: number, a: number, b: number, c: number];
type Runs = (readonly [epoch: number, updates: number])[];

/** All tails together are bounded before the first is written out. */
function unpackTails(bytes: Uint8Array): Runs {
  const runs = unpackRows(bytes, TAIL_COLUMNS, LIMITS.replicaTailRuns) as [number, number][];
  if (runs.some(([epoch, updates]) => epoch === 0 || updates === 0)) throw bad('a tail has a run of nothing');
  const updates = runs.reduce((sum, [, updates]) => sum + updates, 0);
  if (updates > LIMITS.replicaTails) throw bad(`tails have ${updates} updates, more than ${LIMITS.replicaTails}`);
  // The next one is at the end.
  return runs.reverse();
}

function frameOf(kind: number, epoch: number, [a, b, c]: [number, number, number], tails: Runs): FrameOfRow {
  switch (kind) {
    case KIND.begin: {
      const tail = tailOf(a, epoch, tails.splice(-c, c).reverse(), c);
      if (b > a + tail.length) throw bad(`a beginning has committed ${b}, more than it has`);
      return { type: 'begin', base: a, tail, committed: b };
    }
    case KIND.stage:
      if (a === 0 || b === 0 || b > epoch) throw bad(`position ${a} of epoch ${b} cannot be staged in epoch ${epoch}`);
      return { type: 'stage', name: { position: a, epoch: b }, committed: c };
    case KIND.commit:
      if (b !== 0 || c !== 0) throw bad('a commit position has further numbers');
      return { type: 'commit', committed: a };
    default:
      throw bad(`a frame of kind ${kind}`);
  }
}

function tailOf(base: number, epoch: number, runs: Runs, count: number): UpdateName[] {
  if (runs.length !== count) throw bad('a beginning lacks a part of its tail');
  const tail: UpdateName[] = [];
  for (const [placed, updates] of runs) {
    if (placed > epoch) throw bad(`an update of epoch ${placed} cannot be in epoch ${epoch}`);
    for (let i = 0; i < updates; i++) tail.push({ position: base + tail.length + 1, epoch: placed });
  }
  if (!Number.isSafeInteger(base + tail.length)) throw bad('a tail goes beyond all positions');
  return tail;
}

// ---- answers

const ANSWER = { none: 0, staged: 1, old: 2, unfit: 3 } as const;
const ANSWER_COLUMNS = 3;

/** For each frame: kind, then through and committed where it is staged. */
export const packAnswers = (answers: BatchAnswer): Uint8Array =>
  packRows(
    answers.map((answer) => {
      if (answer === undefined) return [ANSWER.none, 0, 0];
      return answer.type === 'staged' ? [ANSWER.staged, answer.through, answer.committed] : [ANSWER[answer.why], 0, 0];
    }),
  );

/** Throws `BadMessage`. */
export const unpackAnswers = (bytes: Uint8Array): BatchAnswer =>
  unpackRows(bytes, ANSWER_COLUMNS, LIMITS.units).map((row) => {
    const [kind, through, committed] = row as [number, number, number];
    return answerOf(kind, through, committed);
  });

function answerOf(kind: number, through: number, committed: number): ReplicaAnswer | undefined {
  if (kind === ANSWER.staged) return { type: 'staged', through, committed };
  if (through !== 0 || committed !== 0) throw bad('an answer that is not about what is staged has positions');
  switch (kind) {
    case ANSWER.none:
      return undefined;
    case ANSWER.old:
      return { type: 'refused', why: 'old' };
    case ANSWER.unfit:
      return { type: 'refused', why: 'unfit' };
    default:
      throw bad(`an answer of kind ${kind}`);
  }
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
