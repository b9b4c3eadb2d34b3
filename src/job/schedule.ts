/** `training.schedule`: the part of the learning rate that is used as training continues. */
import * as z from 'zod';

const passes = () => z.number().positive();
const upTo = (most: number) => z.number().positive().max(most);
const share = () => upTo(1).default(0.01);

const warmup = z
  .strictObject({
    passes: passes().describe('Passes during which the rate rises linearly to its full value; may be a fraction.'),
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
    everyPasses: passes().default(1).describe('Passes between two reductions of the rate; may be a fraction.'),
    factor: z.number().positive().lt(1).default(0.5).describe('Factor by which each reduction multiplies the rate.'),
    warmup,
  }),
  z.strictObject({
    type: z.literal('cosine').describe('The rate falls from the full rate to `final` along half a cosine wave.'),
    passes: passes().describe('Passes during which the rate falls. Afterwards, the rate stays at `final`.'),
    final: share().describe('Final rate, as a fraction of the full rate.'),
    warmup,
  }),
]);
