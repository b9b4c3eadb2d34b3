/** The index of idx files: images are paired with their labels, chunks follow from the header. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { type Content, openContent } from '../../bytes/content.ts';
import type { ChunkCutter } from '../../chunk-cutter.ts';
import { noteLabel } from '../../oddities.ts';
import type { DataPlace } from '../../place.ts';
import type { IndexedFile } from '../../source.ts';
import type { FoundFiles, Indexing } from '../format.ts';
import { type IdxHeader, IMAGES_HEADER_BYTES, LABELS_HEADER_BYTES, readIdxHeader } from './header.ts';

const BLOCK_BYTES = 4 << 20;

export async function indexImages(place: DataPlace, found: FoundFiles, into: Indexing): Promise<IndexedFile[]> {
  const files: IndexedFile[] = [];
  for (const [at, path] of found.paths.entries()) {
    const labelsPath = found.labels[at];
    assert(labelsPath !== undefined, 'labels a file');
    const images = await openContent(place, path);
    try {
      const labels = await openContent(place, labelsPath);
      try {
        files.push(await indexPair(files.length, { images, labels }, into));
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
  { cutter, bounds, onBytes }: Indexing,
): Promise<IndexedFile> {
  const { images, labels } = contents;
  const header = await readHeader(images, 'images');
  const { count } = await readHeader(labels, 'labels');
  if (header.count !== count) {
    throw new PaddletError(
      'DataInvalid',
      `${images.path} contains ${header.count} images, but ${labels.path} contains ${count} labels`,
    );
  }
  if (bounds.featureBound !== 0n && bounds.featureBound !== BigInt(header.width)) {
    throw new PaddletError(
      'DataInvalid',
      `expected ${bounds.featureBound} inputs per record in ${images.path}, got ${header.width}`,
    );
  }
  bounds.featureBound = BigInt(header.width);

  const firstChunk = cutter.chunks.length;
  cutter.startFile(file);
  await cutImages(images, header, cutter, onBytes);
  const records = cutter.endFile();

  const classes = new Uint8Array(count);
  await labels.file.read(classes, LABELS_HEADER_BYTES);
  onBytes(count);
  for (const label of classes) {
    noteLabel(bounds.traits, label);
    bounds.labelBound = Math.max(bounds.labelBound, label + 1);
  }
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
  throw new PaddletError('DataInvalid', `${content.path} contains ${header.kind}, not ${kind}`);
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
