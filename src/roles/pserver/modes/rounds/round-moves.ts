/** Sync mode: the moves of this pserver's units. Each unit takes its rounds state along. */
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

/** The parts of the pserver's round work that moves and copies use. */
export interface MovingRounds {
  /** The state under the current timeline; while the shards go back to a cut, the state under the timeline before. */
  readonly state: () => TimelineState;
  readonly isGoingBack: () => boolean;
  /** True while no units may come or go. */
  readonly isFrozen: () => boolean;
  readonly isTaking: (unit: number) => boolean;
  readonly onGivenUp: () => void;
  /** Called when a unit has arrived in the state before all pservers went back to a cut. */
  readonly onOutdated: (led: OwnedHead) => void;
  /** True while an outdated unit has yet to be loaded from the cut. */
  readonly hasOutdated: () => boolean;
  readonly isOutdated: (unit: number) => boolean;
}

/** `replicas`: undefined if each unit has only one copy. */
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

/** Gives moves and copies access to the rounds, under whichever timeline is current. */
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
