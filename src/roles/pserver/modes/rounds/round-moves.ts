/** Sync mode: the moves of this pserver's units, each with its place in the rounds. */
import { jobFields } from '../../../../cluster/client/job-fields.ts';
import type { OwnedHead } from '../../held/owned-heads.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import type { CopiedRounds } from '../../held/unit-rounds.ts';
import { copiesOf } from '../../replicas/create-replicas.ts';
import type { PserverReplicas } from '../../replicas/pserver-replicas.ts';
import type { ShardServiceOptions } from '../../shard-service.ts';
import { connectMove } from '../../transfer/move-connection.ts';
import { PserverMoves } from '../../transfer/moves.ts';
import type { TimelineState } from './timeline.ts';

/** What moves ask the service for, and tell it. */
export interface MovingRounds {
  /** Under the current timeline, or the last one while the shards go back to a cut. */
  readonly state: () => TimelineState;
  readonly isGoingBack: () => boolean;
  /** No units come or go for now. */
  readonly isFrozen: () => boolean;
  readonly isTaking: (unit: number) => boolean;
  readonly onGivenUp: () => void;
  /** A unit has come as it was before all went back to a cut. */
  readonly onOutdated: (led: OwnedHead) => void;
  /** Some of those have yet to be loaded. */
  readonly hasOutdated: () => boolean;
  readonly isOutdated: (unit: number) => boolean;
}

/** `replicas`: undefined where units have one copy. */
export function startRoundMoves(
  options: ShardServiceOptions,
  owned: OwnedShards,
  rounds: MovingRounds,
  replicas: PserverReplicas | undefined,
): PserverMoves {
  const { context, record, index, fence, onFatal } = options;
  const { cluster } = record.job;
  const job = jobFields(record);
  return new PserverMoves({
    ...{ ...options, owned, leaseTtlMs: cluster.leaseTtlMs },
    me: { index, token: fence.token.toString() },
    connect: ({ target: { token, ...target }, ...link }) =>
      connectMove({ context, job, target: { ...target, token: token.toString() }, ...link, onFatal }),
    withoutSaves: () => rounds.state().withoutSaves(),
    isFrozen: rounds.isFrozen,
    isTaking: rounds.isTaking,
    onGained: () => {},
    onGivenUp: rounds.onGivenUp,
    onRecovery: () => {},
    rounds: roundsOfMoves(rounds),
    ...(replicas === undefined ? {} : copiesOf(replicas, cluster.replicas)),
  });
}

/** What moves and copies ask of the rounds, under whichever timeline. */
export const roundsOfMoves = (rounds: MovingRounds): CopiedRounds => ({
  timeline: () => (rounds.isGoingBack() ? undefined : rounds.state().timeline),
  stateOf: (unit, shards) => rounds.state().rounds.stateOf(unit, shards),
  add: (unit, at) => rounds.state().rounds.add(unit, at),
  remove: (unit) => rounds.state().rounds.remove(unit),
  commit: (units, round) => rounds.state().rounds.commit(units, round),
  outdated: rounds.onOutdated,
  hasOutdated: rounds.hasOutdated,
  isOutdated: rounds.isOutdated,
});
