/** `training.schedule`: the part of the learning rate that is used as training goes on. */
import * as z from 'zod';

const passes = () => z.number().positive();
const upTo = (most: number) => z.number().positive().max(most);
const share = () => upTo(1).default(0.01);

const warmup = z
  .strictObject({
    passes: passes().describe('Number of passes in which the rate rises; may be a fraction.'),
    from: share().describe('Fraction of the learning rate at the start.'),
  })
  .optional()
  .describe('Warm-up: the rate rises linearly at the start; multiplied by the factor of the schedule.');

export const scheduleSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('constant').describe('Constant rate, for a warm-up alone.'), warmup }),
  z.strictObject({
    type: z.literal('step').describe('The rate is multiplied by `factor` at regular intervals.'),
    everyPasses: passes().default(1).describe('Number of passes between two steps; may be a fraction.'),
    factor: z.number().positive().lt(1).default(0.5).describe('Factor of the rate at each step.'),
    warmup,
  }),
  z.strictObject({
    type: z.literal('cosine').describe('The rate falls from its full value to `final` along half a cosine wave.'),
    passes: passes().describe('Number of passes in which the rate falls; then it stays at `final`.'),
    final: share().describe('Fraction of the rate at the end.'),
    warmup,
  }),
]);
