/**
 * `paddlet data synth`: synthetic data with known limits. Writes `train.libsvm`, `test.libsvm` and `planted.json`,
 * which says how well the planted model itself does on the test file: no training can be expected to do better.
 */
import { join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Host } from '../../base/seams.ts';
import { type FinishedMetrics, finishMetrics, scoreMetrics } from '../../model/metrics.ts';
import type { ScoredRecords } from '../../model/model.ts';
import { OutputLoss } from '../../model/sparse-loss.ts';
import { createPlantedSource, type PlantedOptions, type PlantedSource } from './planted-model.ts';

export interface SynthOptions extends PlantedOptions {
  readonly records: number;
  readonly testRecords: number;
}

/**
 * On these a factorization machine comes within 0.01 of the planted AUC in a few passes
 * (test/data/synth/synth.test.ts).
 */
export const SYNTH_DEFAULTS: SynthOptions = {
  records: 100_000,
  testRecords: 20_000,
  features: 300,
  perRecord: 10,
  factors: 2,
  noise: 0,
  seed: 1,
};

export interface SynthResult {
  readonly train: string;
  readonly test: string;
  readonly planted: string;
  readonly report: PlantedReport;
}

/** Content of `planted.json`. */
export interface PlantedReport {
  readonly options: SynthOptions;
  readonly trainPositives: number;
  /** Of the planted model on the test file, computed as for any model. */
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
  const train = join(folder, 'train.libsvm');
  const test = join(folder, 'test.libsvm');
  const planted = join(folder, 'planted.json');
  const trained = await writeRecords(host, train, options.records, source);
  const tested = await writeRecords(host, test, options.testRecords, source);
  const report: PlantedReport = {
    options,
    trainPositives: trained.labels.reduce((sum, label) => sum + label, 0),
    test: finishMetrics('binary', tested.loss.sums(), scoreMetrics(tested)),
  };
  await writeFile(host, planted, [Buffer.from(`${JSON.stringify(report, undefined, 2)}\n`)]);
  return { train, test, planted, report };
}

function checkOptions({ records, testRecords, features, perRecord, factors, noise }: SynthOptions): void {
  const counts = { records, testRecords, perRecord, features };
  for (const [name, value] of Object.entries(counts)) {
    if (!Number.isInteger(value) || value < 1)
      throw new PaddletError('Usage', `${name} must be a whole number above 0`);
  }
  if (features < perRecord) {
    throw new PaddletError(
      'Usage',
      `${features} features are too few for ${perRecord} a record, each of a field of its own`,
    );
  }
  if (features > LIMITS.syntheticFeatures)
    throw new PaddletError('Usage', `at most ${LIMITS.syntheticFeatures} features can be planted`);
  if (!Number.isInteger(factors) || factors < 0 || factors > LIMITS.syntheticFactors) {
    throw new PaddletError('Usage', `factors must be a whole number from 0 to ${LIMITS.syntheticFactors}`);
  }
  if (!Number.isFinite(noise) || noise < 0)
    throw new PaddletError('Usage', 'noise must be a number that is not negative');
}

interface Planted extends ScoredRecords {
  readonly loss: OutputLoss;
}

async function writeRecords(
  host: Pick<Host, 'disk' | 'random'>,
  path: string,
  records: number,
  source: PlantedSource,
): Promise<Planted> {
  const planted = {
    scores: new Float32Array(records),
    labels: new Float32Array(records),
    weights: undefined,
    groups: undefined,
    loss: new OutputLoss('binary'),
  };
  await writeFile(host, path, linesOf(records, source, planted));
  return planted;
}

function* linesOf(records: number, source: PlantedSource, { scores, labels, loss }: Planted): Generator<Buffer> {
  let lines: string[] = [];
  for (let record = 0; record < records; record++) {
    const { ids, label, logit } = source();
    loss.add(logit, label);
    scores[record] = loss.score;
    labels[record] = label;
    lines.push(`${label} ${ids.join(':1 ')}:1\n`);
    if (lines.length === RECORDS_PER_WRITE || record === records - 1) {
      yield Buffer.from(lines.join(''));
      lines = [];
    }
  }
}

/** Under another name until it is whole. */
async function writeFile(
  { disk, random }: Pick<Host, 'disk' | 'random'>,
  path: string,
  blocks: Iterable<Buffer>,
): Promise<void> {
  const partial = `${path}.${random.uuid()}.partial`;
  const file = await disk.create(partial);
  try {
    try {
      let offset = 0;
      for (const block of blocks) {
        await file.write(block, offset);
        offset += block.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(partial, path);
  } catch (error) {
    await disk.remove(partial);
    throw error;
  }
}
