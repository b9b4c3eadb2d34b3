/** Finds the labels of idx images. */
import { PaddletError } from '../../../base/errors.ts';
import { openContent } from '../../bytes/content.ts';
import { absolutePath, compareBytewise, type DataPlace, resolveFiles } from '../../place.ts';
import type { WantedFiles } from '../format.ts';
import { labelsPathOf, readIdxHeader } from './header.ts';

export interface Pair {
  readonly images: string;
  readonly labels: string;
}

/**
 * Each file of images with its labels: as listed in `labels`; else by the names of MNIST, listed in `what` or beside
 * the images; or the only two files in `what`. Sorted bytewise by the images' path. Throws `DataMissing`,
 * `DataInvalid`.
 */
export async function pairsOf(place: DataPlace, wanted: WantedFiles): Promise<Pair[]> {
  const pairs = wanted.labels?.length ? await listedPairs(place, wanted) : await foundPairs(place, wanted);
  return pairs.sort((a, b) => compareBytewise(a.images, b.images));
}

async function listedPairs(place: DataPlace, { what, labels = [] }: WantedFiles): Promise<Pair[]> {
  const images = typeof what === 'string' ? [what] : what;
  if (images.length !== labels.length) {
    throw new PaddletError(
      'DataInvalid',
      `expected as many files of labels as of images, got ${labels.length} and ${images.length}`,
    );
  }
  const pairs: Pair[] = [];
  for (const [at, path] of images.entries()) {
    pairs.push({ images: await oneFile(place, path), labels: await oneFile(place, labels[at] ?? '') });
  }
  return pairs;
}

async function oneFile(place: DataPlace, path: string): Promise<string> {
  const [file, more] = await resolveFiles(place, path);
  if (file === undefined || more !== undefined) {
    throw new PaddletError('DataInvalid', `${path} matches more than one file`, {
      hint: 'list each file of images and each file of labels',
    });
  }
  return file;
}

async function foundPairs(place: DataPlace, { what }: WantedFiles): Promise<Pair[]> {
  const images: string[] = [];
  const labels = new Set<string>();
  for (const path of await resolveFiles(place, what)) {
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
    throw new PaddletError('DataInvalid', `${unused} contains labels, but the file with their images is not listed`);
  return pairs;
}

async function labelsBeside(place: DataPlace, images: string): Promise<string> {
  const path = labelsPathOf(images);
  if (path !== undefined && (await place.host.disk.exists(absolutePath(place, path)))) return path;
  throw new PaddletError(
    'DataMissing',
    `no label file for ${images}${path === undefined ? '' : `: ${path} does not exist`}`,
    {
      hint: 'list the files of labels, or name all files as MNIST does: …-images-idx3-ubyte and …-labels-idx1-ubyte',
    },
  );
}
