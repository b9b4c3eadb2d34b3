/** What every kind of fault is made of. */
import type { Cancel } from '../../src/base/seams.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Supervisor } from './supervisor.ts';

export interface PlannedFault {
  readonly kind: FaultKind;
  readonly atMs: number;
  /** 0 for what happens at once. */
  readonly forMs: number;
  /** Chooses the target, and how. */
  readonly dice: Dice;
  /** For kills: not at the time, but at this operation of the process after it. */
  readonly atOperation: number | undefined;
}

/** Starts the fault and counts it; the returned function ends it. */
export type Action = (cluster: Cluster, fault: PlannedFault) => Cancel | undefined;

export const happened = (cluster: Cluster, { kind, forMs }: PlannedFault, where: string): void => {
  cluster.witness.count(`fault: ${kind}`);
  cluster.witness.tell('FAULT', `${kind}: ${where}${forMs > 0 ? ` for ${Math.round(forMs)} ms` : ''}`);
};

/** At least one. */
export const membersOf = (cluster: Cluster, role: string): Supervisor[] =>
  cluster.supervisors.filter(({ member, isAway }) => member.role === role && !isAway);

export const anyone = (cluster: Cluster, { dice }: PlannedFault): Supervisor =>
  dice.pick(cluster.supervisors.filter(({ isAway }) => !isAway));
