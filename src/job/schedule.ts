/** `training.schedule`: the part of the learning rate that is used as training goes on. */
import * as z from 'zod';

const passes = () => z.number().positive();
const upTo = (most: number) => z.number().positive().max(most);
const share = () => upTo(1).default(0.01);

const warmup = z
  .strictObject({
    passes: passes().describe('Passes in which the rate rises, which may be a fraction.'),
    from: share().describe('Share of the rate that training begins with.'),
  })
  .optional()
  .describe('The rate rises linearly at the start; multiplied with the share of the schedule.');

export const scheduleSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('constant').describe('The whole rate, for a warm-up alone.'), warmup }),
  z.strictObject({
    type: z.literal('step').describe('The rate is multiplied by `factor` at regular intervals.'),
    everyPasses: passes().default(1).describe('Passes between two steps, which may be a fraction.'),
    factor: z.number().positive().lt(1).default(0.5).describe('What the rate is multiplied by at each step.'),
    warmup,
  }),
  z.strictObject({
    type: z.literal('cosine').describe('The rate falls from the whole to `final` along half a cosine wave.'),
    passes: passes().describe('Passes in which it falls; after them it stays at `final`.'),
    final: share().describe('Share of the rate at the end.'),
    warmup,
  }),
]);
