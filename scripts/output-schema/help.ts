/** Commands of the group `help`. */
import * as z from 'zod';
import type { CheckResult } from '../../src/commands/doctor/check.ts';
import { schemaOf } from './fields.ts';

const check = schemaOf<Omit<CheckResult, 'exit'>>()(
  z.strictObject({
    name: z.string(),
    status: z.enum(['ok', 'warn', 'fail']),
    detail: z.string(),
    hint: z.string().optional(),
  }),
);

export const doctor = z
  .strictObject({ ok: z.boolean().describe('Whether all checks passed or only warned.'), checks: z.array(check) })
  .describe('Results of the checks. With `--schema`, paddlet prints the JSON Schema of job files instead.');

export const docs = z.union([
  z.strictObject({ topics: z.array(z.strictObject({ name: z.string(), title: z.string() })) }),
  z
    .strictObject({ topic: z.string(), text: z.string() })
    .describe('Text of a topic, or of the manual page with `--man`.'),
]);

export const completion = z.strictObject({ shell: z.string(), script: z.string() });
