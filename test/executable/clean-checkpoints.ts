/** What a clean stop leaves. */
import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import * as z from 'zod';
import type { Place } from './harness.ts';
import type { JobStore } from './job-store.ts';
import { JOB_FOLDER } from './run.ts';

const checkpointSchema = z.object({ uuid: z.uuid(), md5: z.string(), timestamp: z.number(), clean: z.boolean() });

/** Each pserver has published a file after which it applied nothing. */
export async function expectCleanCheckpoints(place: Place, store: JobStore): Promise<void> {
  for (const index of [0, 1]) {
    const entry = await store.get(`/checkpoints/${index}`);
    const { uuid, clean } = checkpointSchema.parse(JSON.parse(entry?.value ?? 'null'));
    expect(clean).toBe(true);
    expect(existsSync(place.path(JOB_FOLDER, 'checkpoints', String(index), uuid))).toBe(true);
  }
}
