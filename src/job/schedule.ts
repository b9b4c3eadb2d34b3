/** `training.schedule`: the part of the learning rate that is used as training continues. */
import * as z from 'zod';

const passes = () => z.number().positive();
const upTo = (most: number) => z.number().positive().max(most);
const share = () => upTo(1).default(0.01);

const warmup = z
  .strictObject({
    passes: passes().describe('Length of the warm-up in passes; may be a fraction.'),
    from: share().describe('Rate at the start of the warm-up, as a fraction of the full rate.'),
  })
  .optional()
  .describe(
    'Warm-up: the rate rises linearly at the start, and is multiplied by the factor of the schedule. Default: none.',
  );

export const scheduleSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('constant').describe('The full rate at all times, for a warm-up alone.'), warmup }),
  z.strictObject({
    type: z.literal('step').describe('The rate is multiplied by `factor` at regular intervals.'),
    everyPasses: passes().default(1).describe('Passes between two steps; may be a fraction.'),
    factor: z.number().positive().lt(1).default(0.5).describe('Factor that the rate is multiplied by at each step.'),
    warmup,
  }),
  z.strictObject({
    type: z.literal('cosine').describe('The rate falls from the full rate to `final` along half a cosine wave.'),
    passes: passes().describe('Number of passes in which the rate falls. Later it stays at `final`.'),
    final: share().describe('Final rate, as a fraction of the full rate.'),
    warmup,
  }),
]);
