/** Commands of the group `checkpoints`: `checkpoint …` and `restore`. */
import * as z from 'zod';
import { EXPORT_FORMATS, type Exported } from '../../checkpoint/export/files.ts';
import { type Generation, generationSchema } from '../../checkpoint/registry/entry.ts';
import type { ListedGeneration } from '../../checkpoint/registry/listing.ts';
import type { Proof, RestorePlan } from '../../checkpoint/restore/restore.ts';
import type { CheckpointDiff } from '../../checkpoint/set/diff.ts';
import type { Inspection } from '../../checkpoint/set/inspect.ts';
import type { Verification } from '../../checkpoint/set/verify.ts';
import { jobSchema } from '../../job/schema.ts';
import type { About } from '../checkpoint/about.ts';
import type { Saved } from '../checkpoint/save-now.ts';
import { computed, count, jobName, schemaOf, secondsSince1970 } from './fields.ts';

const from = z.string().describe('A path, or a store and the chroot of a job.');
const shape = z.array(count);
const index = count.describe('Of its pserver.');

// ---- save, forget, ls ----

const outcome = z.enum(['saved', 'running']).describe('running: a save was under way, and the request is ignored.');

export const save = schemaOf<Saved & { job: string }>()(
  z.strictObject({
    job: jobName,
    cut: z
      .strictObject({ outcome, round: count.optional(), timeline: count.optional() })
      .optional()
      .describe('Sync mode: the common round.'),
    pservers: z.array(
      z.strictObject({
        index: count,
        outcome,
        uuid: z.string().optional(),
        md5: z.string().optional(),
        bytes: count.optional(),
      }),
    ),
  }),
);

export const forget = z.strictObject({ job: jobName, index: count, files: z.array(z.string()) });

const listedGeneration = schemaOf<ListedGeneration>()(
  z.strictObject({
    index: index.optional(),
    uuid: z.string().optional(),
    path: z.string(),
    age: count.describe('0 for the newest of its pserver.'),
    bytes: count.optional(),
    rows: count.optional(),
    shards: count.optional(),
    createdAt: secondsSince1970.optional(),
    jobName: jobName.optional(),
    state: z
      .enum(['clean', 'opened', 'running', 'incompatible', 'damaged', 'missing'])
      .describe('See `paddlet checkpoint ls --help`. running: written during training.'),
    complaint: z.string().optional(),
  }),
);

export const ls = z.strictObject({
  from,
  folder: z.string().optional(),
  generations: z.array(listedGeneration),
  unfinished: z.array(z.string()).describe('Files that are being written, or left by a crash.'),
});

// ---- inspect, verify, diff, export ----

const statistics = {
  count,
  min: z.number().optional().describe('Over finite values.'),
  max: z.number().optional().describe('Over finite values.'),
  mean: z.number().optional().describe('Over finite values.'),
  norm: z.number().describe('Euclidean norm of the finite values.'),
  nans: count,
  infinities: count,
  valuesDigest: z.string().describe('Of ids and values.'),
  stateDigest: z.string().describe('Of ids, values, optimizer state and update counts.'),
};

const about = schemaOf<About>()(
  z.union([
    z.strictObject({
      model: jobSchema.shape.model,
      format: jobSchema.shape.data.shape.format,
      columns: count.describe('0 of formats without columns.'),
    }),
    z.strictObject({ complaint: z.string().describe('Why the checkpoint is not enough for predictions.') }),
  ]),
);

const optimizer = jobSchema.shape.optimizer.meta({ id: 'Optimizer' });

export const inspect = schemaOf<Inspection & { job: About }>()(
  z.strictObject({
    jobId: z.string(),
    jobName,
    shards: z.strictObject({ total: count, missing: z.array(count) }),
    files: z.array(
      z.strictObject({
        path: z.string(),
        uuid: z.string(),
        index,
        token: z.string(),
        bytes: count,
        rows: count,
        shards: count.describe('Read from this file.'),
        shardsHere: count.describe('In this file.'),
        createdAt: secondsSince1970,
        clean: z.boolean(),
      }),
    ),
    tables: z.array(
      z.strictObject({
        name: z.string(),
        width: count,
        optimizer,
        rows: count,
        bytes: count,
        ...statistics,
        top: z.array(z.strictObject({ id: z.string(), norm: z.number() })).describe('With --top.'),
      }),
    ),
    dense: z.array(z.strictObject({ name: z.string(), shape, optimizer, blocks: count, bytes: count, ...statistics })),
    positions: z.strictObject({
      progress: z
        .strictObject({
          tasks: count.describe('Of a pass.'),
          passes: count.describe('Complete ones.'),
          applied: count,
          discarded: count,
          open: z.array(z.strictObject({ pass: count, applied: count, closed: count })),
        })
        .optional()
        .describe('Of the shard that has applied least.'),
      complaint: z.string().optional().describe('Why the ledgers cannot be read.'),
      ledgers: count.describe('Distinct ones.'),
      seq: z.tuple([count, count]).describe('Updates of the shards: least and greatest.'),
      digest: z.string(),
    }),
    digests: z.strictObject({ modelDigest: z.string(), stateDigest: z.string() }).optional().describe('With --digest.'),
    job: about,
  }),
);

export const verify = schemaOf<Verification>()(
  z.strictObject({
    ok: z.boolean(),
    jobId: z.string().optional(),
    jobName: jobName.optional(),
    files: z.array(
      z.strictObject({
        path: z.string(),
        index: index.optional(),
        uuid: z.string().optional(),
        bytes: count.optional(),
        checked: z
          .enum(['md5', 'checksums', 'nothing'])
          .describe('What the content was compared with. nothing: a merged model or safetensors without checksums.'),
        problems: z.array(
          z.strictObject({
            part: z.string().describe('file, header, structure, job, or the name of a tensor.'),
            message: z.string(),
          }),
        ),
      }),
    ),
    shards: count.describe('Of the job.'),
    missing: z.array(count).describe('Shards that are in no sound file.'),
  }),
);

const distance = computed.describe('Euclidean, over what is in both. null: a value is not a number.');

export const diff = schemaOf<CheckpointDiff & { before: string; after: string }>()(
  z.strictObject({
    before: from,
    after: from,
    same: z.boolean(),
    tables: z.array(
      z.strictObject({
        name: z.string(),
        rowsBefore: count,
        rowsAfter: count,
        added: count,
        removed: count,
        changed: count.describe('Rows in both with other values.'),
        distance,
      }),
    ),
    dense: z.array(z.strictObject({ name: z.string(), elements: count, changed: count, distance })),
    unlike: z.array(z.string()).describe('Variables that are in one only, or of another shape.'),
  }),
);

export const exported = schemaOf<Exported & { job: string; from: string; format: string; state: boolean }>()(
  z.strictObject({
    job: jobName,
    from,
    format: z.string().describe(EXPORT_FORMATS.join(', ')),
    state: z.boolean().describe('With optimizer state.'),
    paths: z.array(z.string()),
    tables: z.array(z.strictObject({ name: z.string(), rows: count, width: count })),
    dense: z.array(z.strictObject({ name: z.string(), shape })),
  }),
);

// ---- restore ----

const plan = schemaOf<RestorePlan>()(
  z.strictObject({
    files: z.array(z.strictObject({ index, shards: count, rows: count })),
    variables: z.strictObject({ dense: z.array(z.string()), sparse: z.array(z.string()) }),
    leftOut: z.array(z.string()),
    bytes: count,
  }),
);

const proof = schemaOf<Proof>()(
  z.strictObject({
    variables: z.array(
      z.strictObject({
        name: z.string(),
        kind: z.enum(['dense', 'sparse']),
        rows: count.describe('Rows of a table, blocks of a dense parameter.'),
        valuesDigest: z.string(),
        stateDigest: z.string(),
      }),
    ),
    shards: count,
    positionsDigest: z.string(),
  }),
);

const generation = schemaOf<Generation>()(z.strictObject(generationSchema.shape));

const planned = {
  job: jobName,
  jobId: z.string(),
  from: z.array(z.string()),
  to: z.string(),
  published: z.boolean(),
  plan,
};

export const restore = z.union([
  z.strictObject({ ...planned, files: z.array(generation), proof: proof.describe('The same before and after.') }),
  z.strictObject({ ...planned, published: z.literal(false), dryRun: z.literal(true) }).describe('With --dry-run.'),
]);
