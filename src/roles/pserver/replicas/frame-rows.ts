/**
 * Encodes the frames of the copies of units, and the answers to them, as rows of numbers (docs/protocol.md). A push has
 * a frame for each unit. As maps in the header, these frames would cost more than the rest of a small push.
 */
import { unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { ReplicaAnswer, ReplicaFrame, UpdateName } from '../../../core/replicas/messages.ts';
import type { BatchAnswer } from '../../../core/replicas/peer-link.ts';

/** A frame of one unit in one epoch. A stage lacks its payload, because all stages of a batch share one payload. */
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
  /**
   * Each row contains the kind, unit and epoch, and then three numbers:
   * - begin: base, committed, number of runs;
   * - stage: position, epoch of the update, committed;
   * - commit: committed, 0, 0.
   */
  readonly frames: Uint8Array;
  /** The runs of the tails of the begins, one tail after the other. A run is an epoch and its number of updates. */
  readonly tails: Uint8Array;
}

export function packFrames(frames: readonly UnitFrame[]): FrameSegments {
  const rows: number[] = [];
  const tails: number[] = [];
  for (const { unit, epoch, frame } of frames) {
    const { type, committed } = frame;
    switch (type) {
      case 'begin':
        rows.push(KIND.begin, unit, epoch, frame.base, committed, addRuns(tails, frame.tail));
        break;
      case 'stage':
        rows.push(KIND.stage, unit, epoch, frame.name.position, frame.name.epoch, committed);
        break;
      case 'commit':
        rows.push(KIND.commit, unit, epoch, committed, 0, 0);
        break;
      default:
        unreachable(type);
    }
  }
  return { frames: packRows(rows), tails: packRows(tails) };
}

/**
 * Adds the runs of a tail, and returns their number. The positions of a tail are consecutive, so a run needs only its
 * epoch and its number of updates.
 */
function addRuns(rows: number[], tail: readonly UpdateName[]): number {
  let runs = 0;
  for (let at = 0; at < tail.length; ) {
    const { epoch } = tail[at]!;
    const from = at;
    while (at < tail.length && tail[at]!.epoch === epoch) at++;
    rows.push(epoch, at - from);
    runs += 1;
  }
  return runs;
}

/** Throws `BadMessage`. `units`: number of units of the job. */
export function unpackFrames(units: number, segments: FrameSegments): UnitFrame[] {
  const tails = new Tails(segments.tails);
  const seen = new Set<number>();
  const frames: UnitFrame[] = [];
  const rows = unpackRows(segments.frames, FRAME_COLUMNS, units);
  for (let at = 0; at < rows.length; at += FRAME_COLUMNS) {
    const [kind, unit, epoch] = [rows[at]!, rows[at + 1]!, rows[at + 2]!];
    if (unit >= units || seen.has(unit)) throw bad(`a frame of unit ${unit}: the job has ${units}, each comes once`);
    if (epoch === 0) throw bad(`a frame of unit ${unit} is of no epoch`);
    seen.add(unit);
    frames.push({ unit, epoch, frame: frameOf(kind, epoch, [rows[at + 3]!, rows[at + 4]!, rows[at + 5]!], tails) });
  }
  if (!tails.isEmpty) throw bad('there are tails of no beginning');
  return frames;
}

function frameOf(kind: number, epoch: number, [a, b, c]: readonly [number, number, number], tails: Tails): FrameOfRow {
  switch (kind) {
    case KIND.begin: {
      const tail = tails.next(a, epoch, c);
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

/** The tails of all begins. Their total size is checked before the first tail is expanded. */
class Tails {
  readonly #runs: Float64Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#runs = unpackRows(bytes, TAIL_COLUMNS, LIMITS.replicaTailRuns);
    let updates = 0;
    for (let at = 0; at < this.#runs.length; at += TAIL_COLUMNS) {
      if (this.#runs[at] === 0 || this.#runs[at + 1] === 0) throw bad('a tail has a run of nothing');
      updates += this.#runs[at + 1]!;
    }
    if (updates > LIMITS.replicaTails) throw bad(`tails have ${updates} updates, more than ${LIMITS.replicaTails}`);
  }

  get isEmpty(): boolean {
    return this.#at === this.#runs.length;
  }

  next(base: number, epoch: number, runs: number): UpdateName[] {
    const end = this.#at + TAIL_COLUMNS * runs;
    if (end > this.#runs.length) throw bad('a beginning lacks a part of its tail');
    const tail: UpdateName[] = [];
    for (; this.#at < end; this.#at += TAIL_COLUMNS) {
      const [placed, updates] = [this.#runs[this.#at]!, this.#runs[this.#at + 1]!];
      if (placed > epoch) throw bad(`an update of epoch ${placed} cannot be in epoch ${epoch}`);
      for (let i = 0; i < updates; i++) tail.push({ position: base + tail.length + 1, epoch: placed });
    }
    if (!Number.isSafeInteger(base + tail.length)) throw bad('a tail goes beyond all positions');
    return tail;
  }
}

// ---- answers

const ANSWER = { none: 0, staged: 1, old: 2, unfit: 3 } as const;
const ANSWER_COLUMNS = 3;

/** A row for each frame: kind, through, committed. Only `staged` has positions; the other kinds have zeros. */
export function packAnswers(answers: BatchAnswer): Uint8Array {
  const rows: number[] = [];
  for (const answer of answers) {
    if (answer === undefined) rows.push(ANSWER.none, 0, 0);
    else if (answer.type === 'staged') rows.push(ANSWER.staged, answer.through, answer.committed);
    else rows.push(ANSWER[answer.why], 0, 0);
  }
  return packRows(rows);
}

/** Throws `BadMessage`. */
export function unpackAnswers(bytes: Uint8Array): BatchAnswer {
  const rows = unpackRows(bytes, ANSWER_COLUMNS, LIMITS.units);
  const answers: (ReplicaAnswer | undefined)[] = [];
  for (let at = 0; at < rows.length; at += ANSWER_COLUMNS) {
    answers.push(answerOf(rows[at]!, rows[at + 1]!, rows[at + 2]!));
  }
  return answers;
}

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

// ---- rows of integers: each a little-endian u64, with a fixed number of columns

const NUMBER_BYTES = 8;
const WORD = 2 ** 32;
/** The high word of the largest safe integer. */
const MOST_HIGH_WORD = 2 ** 21 - 1;

/** `numbers`: the rows, one after the other. */
export function packRows(numbers: readonly number[]): Uint8Array {
  const words = new Uint32Array(2 * numbers.length);
  for (let at = 0; at < numbers.length; at++) {
    const number = numbers[at]!;
    words[2 * at] = number % WORD;
    words[2 * at + 1] = Math.floor(number / WORD);
  }
  return new Uint8Array(words.buffer);
}

/**
 * Returns the rows, one after the other. Throws `BadMessage` for more than `most` rows, for an incomplete row, and for
 * a number of more than 53 bits.
 */
export function unpackRows(bytes: Uint8Array, columns: number, most: number): Float64Array {
  const rowBytes = NUMBER_BYTES * columns;
  const count = bytes.byteLength / rowBytes;
  if (!Number.isInteger(count) || count > most) {
    throw bad(`${bytes.byteLength} bytes are not up to ${most} rows of ${rowBytes} bytes`);
  }
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const numbers = new Float64Array(count * columns);
  for (let at = 0; at < numbers.length; at++) {
    const high = words[2 * at + 1]!;
    if (high > MOST_HIGH_WORD) throw bad('a number of a row has more than 53 bits');
    numbers[at] = words[2 * at]! + WORD * high;
  }
  return numbers;
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
