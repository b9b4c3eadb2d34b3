/** A task as it is handed to a trainer, and where its records are. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { count, taskAddress } from './fields.ts';

const chunk = z.strictObject({
  file: count,
  offset: count,
  bytes: count,
  firstRecord: count,
  /** Among all records of the file, where others are left out. */
  position: count.optional(),
  records: count,
  firstLine: count,
  crc32: count,
});

const path = z.string().min(1).max(LIMITS.dataPathCharacters);

const fields = z.int().min(1).max(LIMITS.columns);
const layout = z.strictObject({
  fields,
  positions: z
    .array(
      z
        .int()
        .min(-1)
        .max(LIMITS.columns - 1),
    )
    .max(LIMITS.columns),
});

/** Where the records of a task are. */
export const taskChunks = {
  /** The files that the chunks' `file` numbers mean: relative path, bytes and records of the decompressed content. */
  files: z
    .array(
      z.strictObject({
        path,
        bytes: count,
        records: count,
        labels: z.strictObject({ path, bytes: count }).optional(),
        /** Where the columns of the job are in a line. */
        layout: layout.optional(),
      }),
    )
    .min(1),
  chunks: z.array(chunk).min(1),
};
export type TaskChunks = z.infer<z.ZodObject<typeof taskChunks>>;

export const dealtTask = z.strictObject({
  ...taskAddress,
  ...taskChunks,
});
export type DealtTask = z.infer<typeof dealtTask>;
