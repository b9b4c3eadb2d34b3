/**
 * `paddlet data synth`: made data with known limits. Writes `train.libsvm`, `test.libsvm` and `planted.json`, which says
 * how well the planted model itself does on the test file: no training can be expected to do better.
 */
import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import type { Host } from '../base/seams.ts';
import { type FinishedMetrics, finishMetrics } from '../model/metrics.ts';
import { OutputLoss } from '../model/sparse-loss.ts';
import { createPlantedSource, type PlantedOptions, type PlantedSource } from './planted-model.ts';

export interface SynthOptions extends PlantedOptions {
  readonly records: number;
  readonly testRecords: number;
}

/** On these a factorization machine comes within 0.01 of the planted AUC in a few passes (test/data/synth.test.ts). */
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

/** The same options give the same bytes. Overwrites files of these names in `folder`, which is made when needed. */
export async function writeSynth(
  host: Pick<Host, 'disk' | 'random'>,
  folder: string,
  options: SynthOptions,
): Promise<SynthResult> {
  assert(options.perRecord >= 1 && options.features >= options.perRecord, 'at least one feature a field');
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
    test: finishMetrics('binary', tested.loss.sums(), tested.scores, tested.labels),
  };
  await writeFile(host, planted, [Buffer.from(`${JSON.stringify(report, undefined, 2)}\n`)]);
  return { train, test, planted, report };
}

interface Planted {
  readonly scores: Float32Array;
  readonly labels: Float32Array;
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
