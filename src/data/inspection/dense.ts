/** A look at idx images: what their header and their labels say. */
import { openContent } from '../bytes/content.ts';
import { idxFormat } from '../formats/idx/format.ts';
import { LABELS_HEADER_BYTES, readIdxHeader } from '../formats/idx/header.ts';
import type { DataPlace } from '../place.ts';

export interface DenseLook {
  readonly path: string;
  readonly labelsPath: string;
  readonly records: number;
  /** Number of inputs per record. */
  readonly inputs: number;
  /** Records of each class. */
  readonly classes: readonly number[];
}

const STEP_BYTES = 1 << 16;

/** Throws as the format does; labels are found by name, as training finds them. */
export async function lookAtDense(place: DataPlace, path: string): Promise<DenseLook> {
  const { paths, labels } = await idxFormat.find(place, { what: path });
  const [images = path, labelsPath = path] = [paths[0], labels[0]];
  const content = await openContent(place, images);
  const { count, width } = await readIdxHeader(content).finally(() => content.file.close());
  return { path: images, labelsPath, records: count, inputs: width, classes: await classesOf(place, labelsPath) };
}

async function classesOf(place: DataPlace, path: string): Promise<number[]> {
  const content = await openContent(place, path);
  try {
    await readIdxHeader(content);
    const counts: number[] = new Array(256).fill(0);
    const bytes = new Uint8Array(STEP_BYTES);
    for (let at = LABELS_HEADER_BYTES; at < content.bytes; ) {
      const got = await content.file.read(bytes, at);
      for (const label of bytes.subarray(0, got)) counts[label]! += 1;
      at += got;
      if (got === 0) break;
    }
    return counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
  } finally {
    await content.file.close();
  }
}
