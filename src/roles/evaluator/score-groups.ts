/** Scores of groups of records: those of good records by the model, and why the others have none. */
import type { ParameterClient } from '../../cluster/client/parameter-client.ts';
import { throwIfAborted } from '../../cluster/waiting.ts';
import { describeBad } from '../../data/bad-records.ts';
import type { ForwardGroup } from '../../data/formats/format.ts';
import type { TaskRecords } from '../../data/source.ts';
import { type Batch, idsOf, type Model } from '../../model/model.ts';
import { EVALUATION_BATCH } from '../trainer/tasks/evaluate-task.ts';

/** Maximum number of bad records in a message. */
export const SHOWN_BAD = 5;

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
  readonly records: number;
  /** Number of records without a score. */
  readonly bad: number;
  /** Places of the first ones, at most `SHOWN_BAD`. */
  readonly firstBad: readonly string[];
  /** Features that were looked up in a model that tells which ids it knows, and how many of them it does not. */
  readonly features: number;
  readonly unknown: number;
  /** The unknown ones by the name of their column, of formats with columns. */
  readonly unknownIn: ReadonlyMap<string, number>;
  /** Columns that a record had a value of. */
  readonly seen: ReadonlySet<string>;
}

export const NO_TALLY: Tally = {
  records: 0,
  bad: 0,
  firstBad: [],
  features: 0,
  unknown: 0,
  unknownIn: new Map(),
  seen: new Set(),
};

/** `b`: of the records that follow those of `a`. */
export const addTally = (a: Tally, b: Tally): Tally => ({
  records: a.records + b.records,
  bad: a.bad + b.bad,
  firstBad: [...a.firstBad, ...b.firstBad].slice(0, SHOWN_BAD),
  features: a.features + b.features,
  unknown: a.unknown + b.unknown,
  unknownIn: sumOf(a.unknownIn, b.unknownIn),
  seen: b.seen.size === 0 ? a.seen : a.seen.union(b.seen),
});

function sumOf(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  if (b.size === 0) return a;
  const sum = new Map(a);
  for (const [name, count] of b) sum.set(name, (sum.get(name) ?? 0) + count);
  return sum;
}

/** What parameters come from; `knownIds` where it can tell which ids it has. */
export interface ScoreClient extends Pick<ParameterClient, 'pull'> {
  knownIds?(table: number, ids: BigUint64Array): BigUint64Array | Promise<BigUint64Array>;
}

export interface Scoring {
  readonly model: Model;
  /** Scores of a record. */
  readonly outputs: number;
  /** For formats with columns, the columns of each sparse input, by the field of a feature. */
  readonly names?: readonly (readonly string[])[] | undefined;
}

export async function scoreGroup(
  { model, outputs, names }: Scoring,
  { records, kept }: ForwardGroup,
  client: ScoreClient,
  signal: AbortSignal,
): Promise<{ readonly group: ScoredGroup; readonly tally: Tally }> {
  const good = new Float32Array(records.goodBefore(records.records) * outputs);
  let at = 0;
  let features = 0;
  let unknown = 0;
  const unknownIn = new Map<string, number>();
  for (let from = 0; from < records.records; from += EVALUATION_BATCH) {
    throwIfAborted(signal);
    const batch = records.batch(from, Math.min(from + EVALUATION_BATCH, records.records));
    if (batch.records === 0) continue;
    const values = await client.pull(idsOf(model, batch), signal);
    good.set(model.classProbabilities?.(batch, values) ?? model.evaluate(batch, values).scores, at);
    at += batch.records * outputs;
    if (client.knownIds === undefined) continue;
    for (const { rows } of batch.sparse) features += rows.length;
    unknown += await unknownFeatures({ model, batch, names }, client.knownIds, unknownIn);
  }
  const errors = errorsOf(records, good, outputs);
  const firstBad = placesOf(records, errors);
  const scores = spread(records, good, outputs);
  return {
    group: { records: records.records, scores, outputs, errors, kept },
    tally: { records: records.records, bad: errors.size, firstBad, features, unknown, unknownIn, seen: new Set() },
  };
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

/** Places of the first records without a score, with the reason of each. */
function placesOf(records: TaskRecords, errors: ReadonlyMap<number, string>): string[] {
  const bad = records.bad.values();
  return [...errors].slice(0, SHOWN_BAD).map(([position, error]) => {
    const isBad = records.goodBefore(position + 1) === records.goodBefore(position);
    return isBad ? describeBad(bad.next().value!) : `${records.describe(position, position + 1)}: ${error}`;
  });
}

/** Moves the scores of good records to the positions of all records. */
function spread(records: TaskRecords, scores: Float32Array, outputs: number): Float32Array {
  if (records.bad.length === 0) return scores;
  const all = new Float32Array(records.records * outputs);
  for (let position = 0; position < records.records; position++) {
    const [good, next] = [records.goodBefore(position), records.goodBefore(position + 1)];
    if (next > good) all.set(scores.subarray(good * outputs, next * outputs), position * outputs);
  }
  return all;
}

/** Features whose ids have no row in any table: their values are the initial ones. Adds them up by column, too. */
async function unknownFeatures(
  { model, batch, names }: Pick<Scoring, 'model' | 'names'> & { readonly batch: Batch },
  knownIds: NonNullable<ScoreClient['knownIds']>,
  byColumn: Map<string, number>,
): Promise<number> {
  let unknown = 0;
  for (const [input, { ids, count, rows, fields }] of batch.sparse.entries()) {
    const table = model.lookups.indexOf(input);
    if (table < 0) continue;
    const all = new BigUint64Array(ids.slice(0, 8 * count).buffer);
    const known = await knownIds(table, all);
    if (known.length === count) continue;
    let next = 0;
    // Known ids come in the same order as all ids.
    const isKnown = Uint8Array.from(all, (id) => (id === known[next] ? ++next && 1 : 0));
    for (let feature = 0; feature < rows.length; feature++) {
      if (isKnown[rows[feature]!] !== 0) continue;
      unknown += 1;
      const column = fields && names?.[input]?.[fields[feature]!];
      if (column !== undefined) byColumn.set(column, (byColumn.get(column) ?? 0) + 1);
    }
  }
  return unknown;
}
