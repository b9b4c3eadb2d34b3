/** What the schemas of several commands share. What has an `id` is a separate part in the published schema. */
import * as z from 'zod';
import { CODES, type ErrorCode, EXIT } from '../../src/base/errors.ts';
import type { Frozen } from '../../src/base/frozen.ts';
import { metricsSchema } from '../../src/cluster/job/job-result.ts';
import type { ErrorJson } from '../../src/commands/base/errors.ts';
import type { Listed } from '../../src/commands/base/listed-bad-records.ts';
import type { FinishedMetrics } from '../../src/model/metrics.ts';

/** The schema of what is printed of a `T`. The build breaks when it does not take every `T`. */
export const schemaOf =
  <T>() =>
  <S extends z.ZodType>(
    schema: S,
    ..._agrees: [T] extends [Frozen<z.output<S>>] ? [] : ['the schema is too narrow']
  ): S =>
    schema;

export const count = z.int().min(0);
/** A computed number may be none, and JSON has no word for that. */
export const computed = z.number().nullable().describe('A computed number; null if it is NaN or infinite.');
export const jobName = z.string().describe('Name of the job.');
export const secondsSince1970 = z.number().min(0).describe('Seconds since 1970.');
export const tally = z.array(z.strictObject({ text: z.string(), count }));

export const metrics = schemaOf<FinishedMetrics>()(metricsSchema);
// As it is, since the result of a job has it.
z.globalRegistry.add(metrics, { id: 'Metrics' });

export const listed = schemaOf<Listed>()(
  z.strictObject({
    badRecordFolder: z
      .string()
      .optional()
      .describe('Folder of the lists of bad records; absent if this machine has none.'),
  }),
);

export const errorCode = z
  .enum([...(Object.keys(CODES) as [ErrorCode, ...ErrorCode[]]), 'Bug'])
  .meta({ id: 'ErrorCode', description: 'Error code; `paddlet docs protocol#errors` explains each code.' });
export const exitCode = z.literal(Object.values(EXIT));

/** What every command prints when it fails. */
export const error = schemaOf<ErrorJson>()(
  z
    .strictObject({
      error: z.strictObject({
        code: errorCode,
        message: z.string(),
        hint: z.string().optional().describe('What to do next: a command or an edit.'),
        exit: exitCode.describe('Exit code of the command.'),
        details: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Details of the error; their names depend on the code.'),
      }),
    })
    .describe('The last line that a command prints when it fails.'),
);
