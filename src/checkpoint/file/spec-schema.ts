/** The parameters and their optimizers as the metadata of a checkpoint state them, checked and bounded. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { once } from '../../base/once.ts';
import type { Admission } from '../../tensor/admission/admission.ts';
import { elementCount } from '../../tensor/blocks.ts';
import type { OptimizerSpec, TrainedSpec } from '../../tensor/optimizer.ts';

const finite = z.number();
const name = z.string().min(1).max(LIMITS.parameterNameBytes);

const initializer = once(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('zeros') }),
    z.strictObject({ type: z.literal('constant'), value: finite }),
    z.strictObject({ type: z.literal('uniform'), low: finite, high: finite }),
    z.strictObject({ type: z.literal('normal'), mean: finite, stddev: finite }),
    z.strictObject({ type: z.literal('xavier') }),
  ]),
);

const adam = { learningRate: finite, beta1: finite, beta2: finite, epsilon: finite };

const optimizer = once(
  (): z.ZodType<OptimizerSpec> =>
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('sgd'), learningRate: finite, l2: finite }),
      z.strictObject({ type: z.literal('momentum'), learningRate: finite, momentum: finite, l2: finite }),
      z.strictObject({
        type: z.literal('adagrad'),
        learningRate: finite,
        initialAccumulator: finite,
        epsilon: finite,
        l2: finite,
      }),
      z.strictObject({ type: z.literal('adam'), ...adam, l2: finite }),
      z.strictObject({ type: z.literal('adamw'), ...adam, weightDecay: finite }),
      z.strictObject({ type: z.literal('ftrl'), alpha: finite, beta: finite, lambda1: finite, lambda2: finite }),
    ]),
);

const admission = once(
  (): z.ZodType<Admission> =>
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('count'), min: z.int().min(2).max(LIMITS.admissionCount) }),
      z.strictObject({ type: z.literal('probability'), p: z.number().gt(0).lt(1) }),
    ]),
);

/** A file claims a shape in a few bytes, and readers allocate by it: the product counts, not each dimension. */
const shape = once(() =>
  z
    .array(z.int().min(1).max(LIMITS.denseElements))
    .max(LIMITS.denseDimensions)
    .refine((sizes) => elementCount({ shape: sizes }) <= LIMITS.denseElements, {
      error: `expected a shape of at most ${LIMITS.denseElements} elements`,
    }),
);

/** The dense floats that the largest cluster can train: each pserver sends its own in one frame. */
const MOST_DENSE_FLOATS = (LIMITS.frameBytes / Float32Array.BYTES_PER_ELEMENT) * LIMITS.pservers;

export const trainedSpecSchema = once(
  (): z.ZodType<TrainedSpec> =>
    z.strictObject({
      dense: z
        .array(
          z.strictObject({
            name,
            shape: shape(),
            initializer: initializer(),
            statisticRate: finite.exactOptional(),
            optimizer: optimizer(),
          }),
        )
        .max(LIMITS.parameters)
        .refine((all) => all.reduce((sum, one) => sum + elementCount(one), 0) <= MOST_DENSE_FLOATS, {
          error: `expected at most ${MOST_DENSE_FLOATS} dense elements in all`,
        }),
      sparse: z
        .array(
          z
            .strictObject({
              ...{
                name,
                width: z.int().min(1).max(LIMITS.rowWidth),
                initializer: initializer(),
                optimizer: optimizer(),
              },
              hasSeen: z.boolean().exactOptional(),
              admission: admission().exactOptional(),
              shardBytes: z.int().min(0).exactOptional(),
            })
            .refine(({ shardBytes, hasSeen }) => shardBytes === undefined || hasSeen === true, {
              error: 'expected hasSeen of a table with shardBytes',
            }),
        )
        .max(LIMITS.parameters),
    }),
);
