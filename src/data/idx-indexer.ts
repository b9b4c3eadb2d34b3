/** The index of idx files: images are paired with their labels, chunks follow from the header. */
import { crc32 } from 'node:zlib';
import { PaddletError } from '../base/errors.ts';
import type { ChunkCutter } from './chunk-cutter.ts';
import { type Content, openContent } from './content.ts';
import { type IdxHeader, IMAGES_HEADER_BYTES, LABELS_HEADER_BYTES, labelsPathOf, readIdxHeader } from './idx.ts';
import { absolutePath, type DataPlace } from './place.ts';
import type { IndexedFile } from './source.ts';
import type { Bounds } from './text-scanner.ts';

const BLOCK_BYTES = 4 << 20;

export async function indexImages(
  place: DataPlace,
  paths: readonly string[],
  cutter: ChunkCutter,
  bounds: Bounds,
  onBytes: (count: number) => void,
): Promise<IndexedFile[]> {
  const files: IndexedFile[] = [];
  for (const pair of await pairsOf(place, paths)) {
    const images = await openContent(place, pair.images);
    try {
      const labels = await openContent(place, pair.labels);
      try {
        files.push(await indexPair(files.length, { images, labels }, cutter, bounds, onBytes));
      } finally {
        await labels.file.close();
      }
    } finally {
      await images.file.close();
    }
  }
  return files;
}

async function indexPair(
  file: number,
  contents: { readonly images: Content; readonly labels: Content },
  cutter: ChunkCutter,
  bounds: Bounds,
  onBytes: (count: number) => void,
): Promise<IndexedFile> {
  const { images, labels } = contents;
  const header = await readHeader(images, 'images');
  const { count } = await readHeader(labels, 'labels');
  if (header.count !== count) {
    throw new PaddletError('DataInvalid', `${images.path} has ${header.count} images, ${labels.path} ${count} labels`);
  }
  if (bounds.featureBound !== 0 && bounds.featureBound !== header.width) {
    throw new PaddletError(
      'DataInvalid',
      `${images.path} has ${header.width} inputs a record, not ${bounds.featureBound}`,
    );
  }
  bounds.featureBound = header.width;

  const firstChunk = cutter.chunks.length;
  cutter.startFile(file);
  await cutImages(images, header, cutter, onBytes);
  const records = cutter.endFile();

  const classes = new Uint8Array(count);
  await labels.file.read(classes, LABELS_HEADER_BYTES);
  onBytes(count);
  for (const label of classes) bounds.labelBound = Math.max(bounds.labelBound, label + 1);
  for (let at = firstChunk; at < cutter.chunks.length; at++) {
    const chunk = cutter.chunks[at]!;
    const own = classes.subarray(chunk.firstRecord, chunk.firstRecord + chunk.records);
    cutter.chunks[at] = { ...chunk, crc32: crc32(own, chunk.crc32) };
  }
  return { path: images.path, bytes: images.bytes, records, labels: { path: labels.path, bytes: labels.bytes } };
}

async function readHeader(content: Content, kind: IdxHeader['kind']): Promise<IdxHeader> {
  const header = await readIdxHeader(content);
  if (header.kind === kind) return header;
  throw new PaddletError('DataInvalid', `${content.path} holds ${header.kind}, not ${kind}`);
}

async function cutImages(
  images: Content,
  { count, width }: IdxHeader,
  cutter: ChunkCutter,
  onBytes: (count: number) => void,
): Promise<void> {
  const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / width));
  const block = new Uint8Array(perBlock * width);
  for (let first = 0; first < count; first += perBlock) {
    const base = IMAGES_HEADER_BYTES + first * width;
    const got = await images.file.read(block.subarray(0, Math.min(perBlock, count - first) * width), base);
    onBytes(got);
    cutter.show(block, base);
    for (let at = 0; at < got; at += width) cutter.record(base + at, base + at + width, first + at / width + 1);
    cutter.retire(base + got);
  }
}

interface Pair {
  readonly images: string;
  readonly labels: string;
}

/**
 * Each file of images with its labels: by the names of MNIST, listed or beside it; or the only two files listed.
 * In the order of the images' paths.
 */
async function pairsOf(place: DataPlace, paths: readonly string[]): Promise<Pair[]> {
  const images: string[] = [];
  const labels = new Set<string>();
  for (const path of paths) {
    const content = await openContent(place, path);
    try {
      const { kind } = await readIdxHeader(content);
      if (kind === 'images') images.push(path);
      else labels.add(path);
    } finally {
      await content.file.close();
    }
  }
  const only = images.length === 1 && labels.size === 1 ? [...labels][0] : undefined;
  const pairs: Pair[] = [];
  for (const path of images) {
    const own = only ?? (await labelsBeside(place, path));
    labels.delete(own);
    pairs.push({ images: path, labels: own });
  }
  const [unused] = labels;
  if (unused !== undefined)
    throw new PaddletError('DataInvalid', `${unused} holds labels, but its images are not listed`);
  return pairs;
}

async function labelsBeside(place: DataPlace, images: string): Promise<string> {
  const path = labelsPathOf(images);
  if (path !== undefined && (await place.host.disk.exists(absolutePath(place, path)))) return path;
  throw new PaddletError('DataMissing', `no labels for ${images}${path === undefined ? '' : `: there is no ${path}`}`, {
    hint: 'list both files, or name them as MNIST does: …-images-idx3-ubyte and …-labels-idx1-ubyte',
  });
}
