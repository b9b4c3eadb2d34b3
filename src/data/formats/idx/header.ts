/**
 * idx files (MNIST, http://yann.lecun.com/exdb/mnist): a big-endian header, then unsigned bytes. Images: magic 2051,
 * count, rows, columns. Labels: magic 2049, count. Inputs are bytes / 255.
 */
import { basename, dirname, join } from 'node:path';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { Content } from '../../bytes/content.ts';

const IMAGES_MAGIC = 2051;
const LABELS_MAGIC = 2049;
export const IMAGES_HEADER_BYTES = 16;
export const LABELS_HEADER_BYTES = 8;

export interface IdxHeader {
  readonly kind: 'images' | 'labels';
  readonly count: number;
  /** Inputs of a record; 1 for labels. */
  readonly width: number;
}

/** Reads the header and checks it against the size of the file. Throws `DataInvalid`. */
export async function readIdxHeader(content: Content): Promise<IdxHeader> {
  const bytes = Buffer.alloc(IMAGES_HEADER_BYTES);
  const got = await content.file.read(bytes, 0);
  const header = headerIn(content.path, bytes.subarray(0, got));
  const { kind, count, width } = header;
  const wanted = (kind === 'images' ? IMAGES_HEADER_BYTES : LABELS_HEADER_BYTES) + count * width;
  if (content.bytes !== wanted) {
    throw invalid(content.path, `has ${content.bytes} bytes, but its header promises ${wanted}`);
  }
  return header;
}

/** `begins`: the first bytes of the file, as many as a header may have. Throws `DataInvalid`. */
export function headerIn(path: string, begins: Uint8Array): IdxHeader {
  const bytes = Buffer.from(begins.buffer, begins.byteOffset, begins.length);
  const got = bytes.length;
  const magic = got >= 4 ? bytes.readUInt32BE(0) : -1;
  if (magic !== IMAGES_MAGIC && magic !== LABELS_MAGIC) {
    throw invalid(
      path,
      `begins with ${magic < 0 ? `only ${got} bytes` : magic}, not with 2051 (images) or 2049 (labels)`,
    );
  }
  const kind = magic === IMAGES_MAGIC ? 'images' : 'labels';
  const headerBytes = kind === 'images' ? IMAGES_HEADER_BYTES : LABELS_HEADER_BYTES;
  if (got < headerBytes) throw invalid(path, 'ends within its header');
  const count = bytes.readUInt32BE(4);
  const width = kind === 'images' ? bytes.readUInt32BE(8) * bytes.readUInt32BE(12) : 1;
  if (width < 1 || width > LIMITS.denseInputs)
    throw invalid(path, `has ${width} inputs a record (1 to ${LIMITS.denseInputs} can be read)`);
  return { kind, count, width };
}

export const invalid = (path: string, what: string): PaddletError =>
  new PaddletError('DataInvalid', `${path} ${what}`, { hint: 'check the file and data.format' });

/** The labels of a file of images by MNIST's names: `train-images-idx3-ubyte` → `train-labels-idx1-ubyte`. */
export function labelsPathOf(imagesPath: string): string | undefined {
  const name = basename(imagesPath);
  const labels = name.replace('images', 'labels').replace('idx3', 'idx1');
  return labels === name ? undefined : join(dirname(imagesPath), labels);
}
