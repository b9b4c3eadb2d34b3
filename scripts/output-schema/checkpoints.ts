/** Commands of the group `checkpoints`: `checkpoint …` and `restore`. */
import * as z from 'zod';
import { EXPORT_FORMATS, type Exported } from '../../src/checkpoint/export/files.ts';
import { type Generation, generationSchema } from '../../src/checkpoint/registry/entry.ts';
import type { ListedGeneration } from '../../src/checkpoint/registry/listing.ts';
import type { Proof, RestorePlan } from '../../src/checkpoint/restore/restore.ts';
import type { CheckpointDiff } from '../../src/checkpoint/set/diff.ts';
import type { Inspection } from '../../src/checkpoint/set/inspect.ts';
import type { Verification } from '../../src/checkpoint/set/verify.ts';
import type { About } from '../../src/commands/checkpoint/about.ts';
import type { Saved } from '../../src/commands/checkpoint/save-now.ts';
import { jobSchema } from '../../src/job/schema.ts';
import { computed, count, jobName, schemaOf, secondsSince1970 } from './fields.ts';

const from = z.string().describe('Where the checkpoint was read: a path, or a store and the chroot of a job.');
const shape = z.array(count);
const index = count.describe('Index of the pserver that wrote the file.');

// ---- save, forget, ls ----

const outcome = z
  .enum(['saved', 'running'])
  .describe('`saved`: the request caused a save. `running`: a save was already running, so the request was ignored.');

export const save = schemaOf<Saved & { job: string }>()(
  z.strictObject({
    job: jobName,
    cut: z
      .strictObject({ outcome, round: count.optional(), timeline: count.optional() })
      .optional()
      .describe('Sync mode: the cut, which is a checkpoint of the same round by all pservers.'),
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

const fileKind = z
  .enum(['base', 'delta'])
  .describe('`base`: all rows. `delta`: only what changed since the files that it builds on.');
const parents = z.array(z.string()).describe('Names of the files that a delta builds on.');

const listedGeneration = schemaOf<ListedGeneration>()(
  z.strictObject({
    index: index.optional(),
    uuid: z.string().optional(),
    path: z.string(),
    age: count.describe('Number of newer files of the same pserver; 0 for the newest file.'),
    bytes: count.optional(),
    rows: count.optional(),
    shards: count.optional(),
    createdAt: secondsSince1970.optional(),
    jobName: jobName.optional(),
    state: z
      .enum(['clean', 'opened', 'running', 'incompatible', 'damaged', 'missing'])
      .describe('State of the file; `paddlet checkpoint ls --help` explains each. `running`: written during training.'),
    complaint: z.string().optional(),
    kind: fileKind.optional(),
    parents,
  }),
);

export const ls = z.strictObject({
  from,
  folder: z.string().optional(),
  generations: z.array(listedGeneration),
  unfinished: z
    .array(z.string())
    .describe('Paths of incomplete files: a process is writing them, or crashed while it wrote them.'),
});

// ---- inspect, verify, diff, export ----

const statistics = {
  count,
  min: z.number().optional().describe('Minimum of the finite values.'),
  max: z.number().optional().describe('Maximum of the finite values.'),
  mean: z.number().optional().describe('Mean of the finite values.'),
  norm: z.number().describe('Euclidean norm of the finite values.'),
  nans: count,
  infinities: count,
  valuesDigest: z.string().describe('Digest of ids and values.'),
  stateDigest: z.string().describe('Digest of ids, values, optimizer state and update counts.'),
};

const about = schemaOf<About>()(
  z.union([
    z.strictObject({
      model: jobSchema.shape.model,
      format: jobSchema.shape.data.shape.format,
      columns: count.describe('Number of columns; 0 for formats without columns.'),
    }),
    z.strictObject({ complaint: z.string().describe('Why the checkpoint cannot be used for predictions.') }),
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
        shards: count.describe('Number of shards that are read from this file.'),
        shardsHere: count.describe('Number of shards in this file; another file may have newer copies of them.'),
        createdAt: secondsSince1970,
        clean: z.boolean(),
        kind: fileKind,
        parents,
      }),
    ),
    tables: z.array(
      z.strictObject({
        name: z.string(),
        width: count,
        optimizer,
        rows: count,
        bytes: count,
        candidates: z
          .strictObject({ count, bytes: count })
          .optional()
          .describe('Ids with a count but without a row; absent without `admission` of type `count`.'),
        ...statistics,
        top: z
          .array(z.strictObject({ id: z.string(), norm: z.number() }))
          .describe('With `--top`: the rows with the greatest norms.'),
      }),
    ),
    dense: z.array(z.strictObject({ name: z.string(), shape, optimizer, blocks: count, bytes: count, ...statistics })),
    positions: z.strictObject({
      progress: z
        .strictObject({
          tasks: count.describe('Number of tasks per pass.'),
          passes: count.describe('Number of complete passes.'),
          applied: count.describe('Number of records that were applied.'),
          discarded: count.describe('Number of records in discarded tasks that were not applied.'),
          open: z.array(z.strictObject({ pass: count, applied: count, closed: count })),
        })
        .optional()
        .describe('Progress of the shard that has applied the fewest records.'),
      complaint: z.string().optional().describe('Why the ledgers cannot be read.'),
      ledgers: count.describe('Number of distinct ledgers; more than 1 if shards were captured at different moments.'),
      seq: z.tuple([count, count]).describe('Smallest and largest number of updates among the shards.'),
      digest: z.string(),
    }),
    digests: z
      .strictObject({ modelDigest: z.string(), stateDigest: z.string() })
      .optional()
      .describe('With `--digest`: digests of the whole model.'),
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
          .describe(
            'What the content was compared with. `nothing`: the file has no checksums (a merged model or safetensors).',
          ),
        problems: z.array(
          z.strictObject({
            part: z.string().describe('Damaged part: `file`, `header`, `structure`, `job`, or the name of a tensor.'),
            message: z.string(),
          }),
        ),
      }),
    ),
    shards: count.describe('Number of shards of the job.'),
    missing: z.array(count).describe('Shards that no valid file contains.'),
  }),
);

const distance = computed.describe('Euclidean distance over the values that both have; null if a value is NaN.');

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
        changed: count.describe('Number of rows that both have with different values.'),
        distance,
      }),
    ),
    dense: z.array(z.strictObject({ name: z.string(), elements: count, changed: count, distance })),
    unlike: z.array(z.string()).describe('Variables that only one of the two has, or whose shapes differ.'),
  }),
);

export const exported = schemaOf<Exported & { job: string; from: string; format: string; state: boolean }>()(
  z.strictObject({
    job: jobName,
    from,
    format: z.string().describe(`Format of the exported files: ${EXPORT_FORMATS.join(', ')}.`),
    state: z.boolean().describe('Whether the files include the optimizer state.'),
    paths: z.array(z.string()),
    tables: z.array(
      z.strictObject({
        name: z.string(),
        rows: count.describe('Number of rows; with `--since`, of rows that are new or have changed.'),
        width: count,
        gone: count.optional().describe('With `--since`: number of ids that only the earlier export has.'),
      }),
    ),
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
        kind: z.enum(['dense', 'sparse', 'candidates']),
        rows: count.describe('Number of rows or candidates of a table, or of blocks of a dense parameter.'),
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
  z.strictObject({
    ...planned,
    files: z.array(generation),
    proof: proof.describe('Digests that are the same before and after the restore.'),
  }),
  z
    .strictObject({ ...planned, published: z.literal(false), dryRun: z.literal(true) })
    .describe('The plan alone, with `--dry-run`.'),
]);
