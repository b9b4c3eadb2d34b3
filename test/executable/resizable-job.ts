/** The planted job, with units enough to move between up to four pservers. */
import * as z from 'zod';
import type { Place } from './harness.ts';
import { UNHURRIED_JOB } from './planted-job.ts';
import { JOB_FOLDER } from './run.ts';

export const UNITS = 32;

/** It may have up to 4 pservers, and saves often: what leaves waits for the others' files. */
export const RESIZABLE = {
  ...UNHURRIED_JOB,
  cluster: { ...UNHURRIED_JOB.cluster, maxPservers: 4, units: UNITS },
  checkpoint: { interval: '1s' },
};

const resizedSchema = z.object({
  outcome: z.literal('settled'),
  units: z.object({ total: z.literal(UNITS), toMove: z.literal(0), orphans: z.literal(0) }),
  processes: z.array(z.object({ index: z.number(), units: z.number(), status: z.literal('up') })),
});

/** How many units the pservers have, once all is in its place: the most first, as bytes decide who has one more. */
export async function resize(place: Place, ...flags: string[]): Promise<number[]> {
  const resized = resizedSchema.parse(await place.json('resize', '--dir', JOB_FOLDER, ...flags));
  return resized.processes.map(({ units }) => units).sort((a, b) => b - a);
}
