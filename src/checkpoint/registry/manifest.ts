/**
 * Manifest of a kept model: `<folder>/kept/<job>.<tag>/<name>.json` lists the files that are the model, so that a
 * reader needs no store (docs/checkpoint-format.md, "Manifests").
 */
import { dirname, join, relative } from 'node:path';
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parsedJson } from '../../base/parsed-json.ts';
import type { Random, Storage, StoredFile } from '../../base/seams.ts';
import { asCorrupt, corrupt } from '../file/files.ts';
import { checkpointPath, jobTag } from '../file/paths.ts';
import { generationSchema } from './entry.ts';
import type { FileRef } from './file-ref.ts';
import type { PublishedFile } from './newest.ts';

const FORMAT = 'paddlet-kept-model';
const VERSION = 1;

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  version: z.int().min(1),
  jobId: z.string(),
  jobName: z.string(),
  name: z.string(),
  files: z
    .array(
      z.object({
        /** From the folder of the manifest. */
        path: z.string().min(1),
        index: z
          .int()
          .min(0)
          .max(LIMITS.pservers - 1),
        published: generationSchema,
      }),
    )
    .min(1)
    .max(LIMITS.manifestFiles),
});

export const KEPT_FOLDER = 'kept';

/** Where the manifests of one job are. */
export interface ManifestPlace {
  /** The checkpoint folder of the job, which several jobs may share, even of one name. */
  readonly folder: string;
  readonly job: { readonly id: string; readonly name: string };
}

export const manifestFolder = ({ folder, job }: ManifestPlace): string =>
  join(folder, KEPT_FOLDER, `${job.name}.${jobTag(job.id)}`);

export const manifestPath = (place: ManifestPlace, name: string): string => join(manifestFolder(place), `${name}.json`);

/** Puts the manifest, in place of one of that name. */
export async function putManifest(
  { storage, random, ...place }: ManifestPlace & { readonly storage: Storage; readonly random: Pick<Random, 'uuid'> },
  name: string,
  files: readonly PublishedFile[],
): Promise<void> {
  const path = manifestPath(place, name);
  const { folder, job } = place;
  const listed = files.map(({ index, generation }) => ({
    path: relative(dirname(path), checkpointPath({ folder, index }, generation.uuid)),
    index,
    published: generation,
  }));
  const manifest: z.infer<typeof manifestSchema> = {
    ...{ format: FORMAT, version: VERSION, jobId: job.id, jobName: job.name },
    name,
    files: listed,
  };
  const bytes = new TextEncoder().encode(`${JSON.stringify(manifest, null, 1)}
`);
  await storage.put(path, {
    spool: `${path}.${random.uuid()}.part`,
    replaces: true,
    write: async (file) => {
      await file.write(bytes, 0);
      return { bytes: bytes.length };
    },
  });
}

const BRACE = 0x7b;

/** A checkpoint file begins with the length of its header: with this byte it would be longer than any header. */
export async function isManifest(file: StoredFile, path: string): Promise<boolean> {
  const head = new Uint8Array(8);
  const count = await asCorrupt(path, () => file.read(head, 0));
  return count === head.length && head[0] === BRACE && head[7] !== 0;
}

/** The files that it lists. Throws `CheckpointCorrupt`. */
export async function readManifest(file: StoredFile, path: string): Promise<FileRef[]> {
  const size = await file.size();
  if (size > LIMITS.manifestBytes) throw corrupt(path, `a manifest of ${size} bytes is longer than any`);
  const bytes = new Uint8Array(size);
  await asCorrupt(path, () => file.read(bytes, 0));
  const parsed = manifestSchema.safeParse(parsedJson(new TextDecoder().decode(bytes)));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw corrupt(path, `not the manifest of a model: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { version, files } = parsed.data;
  if (version > VERSION) throw corrupt(path, `expected a manifest of version ${VERSION}, got ${version}`);
  return files.map(({ path: from, index, published }) => {
    return { path: join(dirname(path), from), index, uuid: published.uuid, published };
  });
}
