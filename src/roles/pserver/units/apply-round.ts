/** Sync mode: applies a round to shards of a unit that is coming. */
import { createIdRouter } from '../../../tensor/id-router.ts';
import { type Parameters, type RoundGradients, SHARD_ACTION } from '../../../tensor/parameters.ts';
import { partsOfShards } from '../../../tensor/shard-parts.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { applyKeeping } from '../pre-image.ts';
import type { OldValues } from '../unit-rounds.ts';

export interface ApplyRoundOptions {
  readonly parameters: Parameters;
  readonly spec: ParameterSpec;
  /** Of the job. */
  readonly shards: number;
  /** Those that are present and are to get the round. */
  readonly applying: readonly number[];
  /** What the learning rate is multiplied by. */
  readonly rateScale: number;
}

/**
 * Returns what the round changed, as it was before. The round may also have rows and blocks of other shards. Throws
 * what `Parameters.check` throws; then nothing was changed.
 */
export function applyRound(options: ApplyRoundOptions, { dense, sparse }: RoundGradients): OldValues {
  const { parameters, spec, shards, applying, rateScale } = options;
  const actions = new Uint8Array(shards).fill(SHARD_ACTION.skip);
  for (const shard of applying) actions[shard] = SHARD_ACTION.apply;
  parameters.check(sparse, dense, actions);
  const of = { spec, shards, router: createIdRouter({ shards }) };
  const own = partsOfShards(of, { dense, sparse }, applying);
  return applyKeeping(of, parameters, own, actions, rateScale).old;
}
