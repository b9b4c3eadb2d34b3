/** A task as it is dealt to a trainer, and where its records are. */
import * as z from 'zod';

const count = z.int().min(0);

export const taskRef = { pass: count, task: count };

const chunk = z.strictObject({
  file: count,
  offset: count,
  bytes: count,
  firstRecord: count,
  records: count,
  firstLine: count,
  crc32: count,
});

/** Where the records of a task are. */
export const taskChunks = {
  /** The files that the chunks' `file` numbers mean: relative path, bytes and records of the inflated content. */
  files: z
    .array(
      z.strictObject({
        path: z.string().min(1).max(4096),
        bytes: count,
        records: count,
        labels: z.strictObject({ path: z.string().min(1).max(4096), bytes: count }).optional(),
      }),
    )
    .min(1),
  chunks: z.array(chunk).min(1),
};
export type TaskChunks = z.infer<z.ZodObject<typeof taskChunks>>;

export const dealtTask = z.strictObject({
  kind: z.enum(['train', 'evaluate']),
  ...taskRef,
  attempt: z.int().min(1),
  ...taskChunks,
});
export type DealtTask = z.infer<typeof dealtTask>;
