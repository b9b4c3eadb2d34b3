/** What the rows train on: real files where they are, else made ones of the same shape, and files of `data synth`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Paddlet } from './paddlet.ts';

export const DATA_NAMES = ['a9a', 'mnist', 'small', 'wide'] as const;
export type DataName = (typeof DATA_NAMES)[number];

export interface DataSet {
  /** Folder of the job's relative paths. */
  readonly folder: string;
  /** `data` of the job file. */
  readonly fields: Readonly<Record<string, string>>;
  /** Decompressed files for the peers: text of LIBSVM, or images and labels. */
  readonly plain: readonly string[];
  /** What was wanted, when the real files are missing. */
  readonly insteadOf?: string;
}

export interface DataOptions {
  readonly paddlet: Paddlet;
  /** Real data. */
  readonly real: string;
  /** For files that are made. */
  readonly folder: string;
  /** Records of the wide data. */
  readonly records: number;
}

/** With the records of `small`. */
const SYNTH = {
  small: { records: 100_000, features: 5_000, perRecord: 10 },
  wide: { features: 1_000_000, perRecord: 39 },
  a9a: { records: 32_561, features: 123, perRecord: 14 },
} as const;
const IMAGES = 'train-images-idx3-ubyte';
const LABELS = 'train-labels-idx1-ubyte';
const SIDE = 28;
const MADE_IMAGES = 60_000;

export async function prepareData(name: DataName, options: DataOptions): Promise<DataSet> {
  if (name === 'mnist') return mnist(options);
  if (name === 'a9a' && existsSync(join(options.real, 'a9a/a9a.gz'))) return a9a(options);
  const folder = join(options.folder, name);
  const { records, features, perRecord } = { records: options.records, ...SYNTH[name] };
  const counts = {
    records,
    'test-records': 1000,
    features,
    'per-record': perRecord,
    factors: name === 'small' ? 2 : 0,
  };
  const flags = Object.entries(counts).flatMap(([flag, count]) => [`--${flag}`, `${count}`]);
  await options.paddlet.call('data', 'synth', '--output', folder, ...flags);
  return {
    folder,
    fields: { train: 'train.libsvm', format: 'libsvm' },
    plain: [join(folder, 'train.libsvm')],
    ...(name === 'a9a' ? { insteadOf: 'a9a' } : {}),
  };
}

function a9a({ real, folder }: DataOptions): DataSet {
  const fields = { train: 'a9a/a9a.gz', format: 'libsvm' };
  return { folder: real, fields, plain: [inflated(join(real, 'a9a/a9a.gz'), join(folder, 'a9a.libsvm'))] };
}

function mnist({ real, folder }: DataOptions): DataSet {
  const isReal = existsSync(join(real, `mnist/${IMAGES}.gz`));
  const paths = [IMAGES, LABELS].map((name) => join(folder, 'mnist', name));
  mkdirSync(join(folder, 'mnist'), { recursive: true });
  if (isReal) for (const path of paths) inflated(join(real, `${path.slice(folder.length)}.gz`), path);
  else makeImages(paths[0]!, paths[1]!, MADE_IMAGES);
  const fields = { format: 'idx', train: `mnist/${IMAGES}`, trainLabels: `mnist/${LABELS}` };
  return { folder, fields, plain: paths, ...(isReal ? {} : { insteadOf: 'MNIST' }) };
}

function inflated(from: string, to: string): string {
  writeFileSync(to, gunzipSync(readFileSync(from)));
  return to;
}

/** A bright row says which class it is; the rest is noise. */
export function makeImages(imagesPath: string, labelsPath: string, count: number): void {
  const images = Buffer.alloc(16 + count * SIDE * SIDE);
  const labels = Buffer.alloc(8 + count);
  [2051, count, SIDE, SIDE].forEach((value, at) => {
    images.writeUInt32BE(value, 4 * at);
  });
  [2049, count].forEach((value, at) => {
    labels.writeUInt32BE(value, 4 * at);
  });
  for (let image = 0; image < count; image++) {
    const label = image % 10;
    labels[8 + image] = label;
    const start = 16 + image * SIDE * SIDE;
    for (let pixel = 0; pixel < SIDE * SIDE; pixel++)
      images[start + pixel] = Math.imul(start + pixel, 0x9e37_79b1) >>> 26;
    images.fill(200, start + 2 * label * SIDE, start + (2 * label + 1) * SIDE);
  }
  writeFileSync(imagesPath, images);
  writeFileSync(labelsPath, labels);
}
