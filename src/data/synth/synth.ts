/**
 * `paddlet data synth`: synthetic data with known limits. Writes training and test records, and `planted.json`, which
 * says how well the planted model itself does on the test file: no training can be expected to do better.
 */
import { join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Host } from '../../base/seams.ts';
import { type FinishedMetrics, finishMetrics, scoreMetrics } from '../../model/metrics.ts';
import type { ScoredRecords } from '../../model/model.ts';
import { OutputLoss } from '../../model/sparse-loss.ts';
import { writeWhole } from '../whole-file.ts';
import { createPlantedSource, type PlantedOptions, type PlantedSource } from './planted-model.ts';
import { jobOf, type RecordText, type SynthFormat, textOf } from './record-text.ts';

export interface SynthOptions extends PlantedOptions {
  readonly records: number;
  readonly testRecords: number;
  readonly format: SynthFormat;
}

/**
 * On these a factorization machine comes within 0.01 of the planted AUC in a few passes
 * (test/data/synth/reachable.nightly.test.ts).
 */
export const SYNTH_DEFAULTS: SynthOptions = {
  records: 100_000,
  testRecords: 20_000,
  features: 300,
  perRecord: 10,
  numbers: 0,
  missing: 0,
  factors: 2,
  noise: 0,
  seed: 1,
  format: 'libsvm',
};

export interface SynthResult {
  readonly train: string;
  readonly test: string;
  readonly planted: string;
  /** Job file that trains on the files, for formats with columns. */
  readonly job?: string;
  readonly report: PlantedReport;
}

/** Content of `planted.json`. */
export interface PlantedReport {
  readonly options: SynthOptions;
  readonly trainPositives: number;
  /** Metrics of the planted model on the test file, computed as for any model. */
  readonly test: FinishedMetrics;
}

const RECORDS_PER_WRITE = 4096;

/**
 * The same options give the same bytes. Overwrites files of these names in `folder`, which is made when needed. Throws
 * `Usage` for options that make no data.
 */
export async function writeSynth(
  host: Pick<Host, 'disk' | 'random'>,
  folder: string,
  options: SynthOptions,
): Promise<SynthResult> {
  checkOptions(options);
  await host.disk.makeFolder(folder);
  const source = createPlantedSource(options);
  const { format } = options;
  const train = join(folder, `train.${format}`);
  const test = join(folder, `test.${format}`);
  const planted = join(folder, 'planted.json');
  const trained = await writeRecords(host, train, options.records, source, textOf(options));
  const tested = await writeRecords(host, test, options.testRecords, source, textOf(options));
  const report: PlantedReport = {
    options,
    trainPositives: trained.labels.reduce((sum, label) => sum + label, 0),
    test: finishMetrics('binary', tested.loss.sums(), scoreMetrics(tested)),
  };
  await writeFile(host, planted, [Buffer.from(`${JSON.stringify(report, undefined, 2)}\n`)]);
  const asJob = jobOf(options);
  if (asJob === undefined) return { train, test, planted, report };
  const job = join(folder, 'job.yaml');
  await writeFile(host, job, [Buffer.from(asJob)]);
  return { train, test, planted, job, report };
}

function checkOptions(options: SynthOptions): void {
  const { records, testRecords, features, perRecord, numbers, missing, factors, noise, format } = options;
  const counts = { records, testRecords, perRecord, features };
  for (const [name, value] of Object.entries(counts)) {
    if (!Number.isInteger(value) || value < 1)
      throw new PaddletError('Usage', `${name} must be a whole number above 0`);
  }
  if (features < perRecord) {
    throw new PaddletError(
      'Usage',
      `expected at least ${perRecord} features, one per field of a record, got ${features}`,
    );
  }
  if (features > LIMITS.syntheticFeatures)
    throw new PaddletError('Usage', `features must be at most ${LIMITS.syntheticFeatures}`);
  if (!Number.isInteger(factors) || factors < 0 || factors > LIMITS.syntheticFactors) {
    throw new PaddletError('Usage', `factors must be a whole number from 0 to ${LIMITS.syntheticFactors}`);
  }
  if (format === 'libffm' && perRecord > LIMITS.fields) {
    throw new PaddletError(
      'Usage',
      `perRecord must be at most ${LIMITS.fields}, the number of fields that libffm allows`,
    );
  }
  if (!Number.isInteger(numbers) || numbers < 0 || numbers > perRecord) {
    throw new PaddletError(
      'Usage',
      `numbers must be a whole number from 0 to ${perRecord}, the number of fields of a record`,
    );
  }
  if (numbers > 0 && (format === 'libsvm' || format === 'libffm')) {
    throw new PaddletError('Usage', 'numbers need format csv, tsv or jsonl: in other formats all fields are ids');
  }
  if (!(missing >= 0 && missing < 1))
    throw new PaddletError('Usage', 'missing must be a number of at least 0 and below 1');
  if (!Number.isFinite(noise) || noise < 0) throw new PaddletError('Usage', 'noise must be a number of at least 0');
}

interface Planted extends ScoredRecords {
  readonly loss: OutputLoss;
}

async function writeRecords(
  host: Pick<Host, 'disk' | 'random'>,
  path: string,
  records: number,
  source: PlantedSource,
  text: RecordText,
): Promise<Planted> {
  const planted = {
    scores: new Float32Array(records),
    labels: new Float32Array(records),
    weights: undefined,
    groups: undefined,
    loss: new OutputLoss('binary'),
  };
  await writeFile(host, path, linesOf(records, source, planted, text));
  return planted;
}

function* linesOf(
  records: number,
  source: PlantedSource,
  { scores, labels, loss }: Planted,
  { head, line }: RecordText,
): Generator<Buffer> {
  let lines: string[] = [head];
  for (let record = 0; record < records; record++) {
    const made = source();
    const { label, logit } = made;
    loss.add(logit, label);
    scores[record] = loss.score;
    labels[record] = label;
    lines.push(line(made));
    if (lines.length >= RECORDS_PER_WRITE || record === records - 1) {
      yield Buffer.from(lines.join(''));
      lines = [];
    }
  }
}

async function writeFile(host: Pick<Host, 'disk' | 'random'>, path: string, blocks: Iterable<Buffer>): Promise<void> {
  await writeWhole(host, path, async (append) => {
    for (const block of blocks) await append(block);
  });
}
