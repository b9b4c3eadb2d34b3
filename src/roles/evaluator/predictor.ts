/** Scores records group after group, in their order, in this process. */

import type { LocalPulls } from '../../cluster/client/local-pulls.ts';
import type { ParameterClient } from '../../cluster/client/parameter-client.ts';
import { throwIfAborted } from '../../cluster/waiting.ts';
import { describeBad } from '../../data/bad-records.ts';
import type { ForwardGroup } from '../../data/formats/format.ts';
import type { TaskRecords } from '../../data/source.ts';
import { type Batch, idsOf, type Model } from '../../model/model.ts';
import { EVALUATION_BATCH } from '../trainer/tasks/evaluate-task.ts';

/** Of bad records, for a message. */
const SHOWN_BAD = 5;

export interface ScoredGroup {
  readonly records: number;
  /** records × outputs; of a record with an error, any numbers. */
  readonly scores: Float32Array;
  readonly outputs: number;
  /** By position: why a record has no score. */
  readonly errors: ReadonlyMap<number, string>;
  readonly kept: ForwardGroup['kept'];
}

export interface Tally {
  records: number;
  /** Without a score. */
  bad: number;
  readonly firstBad: string[];
  /** Features that were looked up in a model that tells which ids it knows, and how many of them it does not. */
  features: number;
  unknown: number;
}

export interface PredictorOptions {
  readonly model: Model;
  /** Scores of a record. */
  readonly outputs: number;
  readonly groups: AsyncIterator<ForwardGroup>;
  /** Takes them in order; false when no more are wanted. */
  readonly take: (group: ScoredGroup) => Promise<boolean>;
}

type Client = Pick<ParameterClient, 'pull'> & Partial<Pick<LocalPulls, 'knownIds'>>;

export class Predictor {
  readonly tally: Tally = { records: 0, bad: 0, firstBad: [], features: 0, unknown: 0 };
  readonly #options: PredictorOptions;
  /** Read, and not yet taken. */
  #group: ForwardGroup | undefined;

  constructor(options: PredictorOptions) {
    this.#options = options;
  }

  /** To the end of the records. What it throws when the client fails loses none: it may be called with another one. */
  async run(client: Client, signal: AbortSignal): Promise<Tally> {
    const { groups, outputs, take } = this.#options;
    for (;;) {
      if (this.#group === undefined) {
        const next = await groups.next();
        if (next.done === true) return this.tally;
        this.#group = next.value;
      }
      const { records, kept } = this.#group;
      const { scores, features, unknown } = await this.#score(client, records, signal);
      this.#group = undefined;
      const errors = errorsOf(records, scores, outputs);
      this.#count(records, errors);
      this.tally.features += features;
      this.tally.unknown += unknown;
      const all = spread(records, scores, outputs);
      if (!(await take({ records: records.records, scores: all, outputs, errors, kept }))) return this.tally;
    }
  }

  /** Of the good records. */
  async #score(
    client: Client,
    records: TaskRecords,
    signal: AbortSignal,
  ): Promise<{ scores: Float32Array } & Pick<Tally, 'features' | 'unknown'>> {
    const { model, outputs } = this.#options;
    const scores = new Float32Array(records.goodBefore(records.records) * outputs);
    let at = 0;
    let features = 0;
    let unknown = 0;
    for (let from = 0; from < records.records; from += EVALUATION_BATCH) {
      throwIfAborted(signal);
      const batch = records.batch(from, Math.min(from + EVALUATION_BATCH, records.records));
      if (batch.records === 0) continue;
      const values = await client.pull(idsOf(model, batch), signal);
      scores.set(model.classProbabilities?.(batch, values) ?? model.evaluate(batch, values).scores, at);
      at += batch.records * outputs;
      if (client.knownIds === undefined) continue;
      for (const { rows } of batch.sparse) features += rows.length;
      unknown += unknownFeatures(model, batch, client.knownIds);
    }
    return { scores, features, unknown };
  }

  #count(records: TaskRecords, errors: ReadonlyMap<number, string>): void {
    const { tally } = this;
    const bad = records.bad.values();
    for (const [position, error] of errors) {
      if (tally.firstBad.length === SHOWN_BAD) break;
      const isBad = records.goodBefore(position + 1) === records.goodBefore(position);
      const place = isBad ? describeBad(bad.next().value!) : `${records.describe(position, position + 1)}: ${error}`;
      tally.firstBad.push(place);
    }
    tally.records += records.records;
    tally.bad += errors.size;
  }
}

/** In the order of the records. `scores`: of the good ones. */
function errorsOf(records: TaskRecords, scores: Float32Array, outputs: number): Map<number, string> {
  const errors = new Map<number, string>();
  const areFinite = scores.every(Number.isFinite);
  if (areFinite && records.bad.length === 0) return errors;
  const bad = records.bad.values();
  for (let position = 0; position < records.records; position++) {
    const good = records.goodBefore(position);
    if (records.goodBefore(position + 1) === good) errors.set(position, bad.next().value!.reason);
    else if (!areFinite && !scores.subarray(good * outputs, (good + 1) * outputs).every(Number.isFinite)) {
      errors.set(position, 'the score is not a finite number');
    }
  }
  return errors;
}

/** From the good records to all of them. */
function spread(records: TaskRecords, scores: Float32Array, outputs: number): Float32Array {
  if (records.bad.length === 0) return scores;
  const all = new Float32Array(records.records * outputs);
  for (let position = 0; position < records.records; position++) {
    const [good, next] = [records.goodBefore(position), records.goodBefore(position + 1)];
    if (next > good) all.set(scores.subarray(good * outputs, next * outputs), position * outputs);
  }
  return all;
}

/** Features whose ids have no row in any table: their values are the initial ones. */
function unknownFeatures({ lookups }: Model, { sparse }: Batch, knownIds: LocalPulls['knownIds']): number {
  let unknown = 0;
  sparse.forEach(({ ids, count, rows }, input) => {
    const table = lookups.indexOf(input);
    if (table < 0) return;
    const all = new BigUint64Array(ids.slice(0, 8 * count).buffer);
    const known = knownIds(table, all);
    if (known.length === count) return;
    let next = 0;
    // Those that are known come in the same order.
    const isKnown = Uint8Array.from(all, (id) => (id === known[next] ? ++next && 1 : 0));
    for (const row of rows) if (isKnown[row] === 0) unknown += 1;
  });
  return unknown;
}
