/** What goes wrong while units still lack copies, as a pserver has just died. */
import { parseHead } from '../../src/cluster/placement/heads.ts';
import type { Cluster } from './cluster.ts';
import { type Action, happened, membersOf, type PlannedFault } from './fault.ts';
import type { CopyKind } from './fault-kinds.ts';
import { KEYS } from './job-keys.ts';

/** In which the second one dies: most of it is less than a repair takes. */
const SECOND_MS = [20, 3_000] as const;
/** A process that has just begun to lead dies at one of so many operations. */
const OPERATIONS = [0, 40] as const;

function killOne(cluster: Cluster, fault: PlannedFault, but?: string): string {
  const { dice } = fault;
  const target = dice.pick(membersOf(cluster, 'pserver').filter(({ member }) => member.name !== but));
  const silently = dice.chance(0.3);
  if (target.running !== undefined) {
    happened(cluster, fault, `${target.member.name}${silently ? ', silently' : ''}`);
    target.kill(silently);
  }
  return target.member.name;
}

/** The process begins to lead by this head. */
function isTakenBy({ put, value }: { put: string; value: string }, process: string): boolean {
  if (!put.startsWith(KEYS.headsPrefix)) return false;
  const { primary, led, epoch } = parseHead(put, value);
  return led === epoch && process === `pserver ${primary.index}`;
}

export const WITH_COPIES: Readonly<Record<CopyKind, Action>> = {
  'second death': (cluster, fault) => {
    const { timeline, shape } = cluster;
    if (shape.mostPservers < 2) return undefined;
    const first = killOne(cluster, fault);
    cluster.faultBegins();
    timeline.after(fault.dice.between(...SECOND_MS), () => {
      if (membersOf(cluster, 'pserver').some(({ member }) => member.name !== first)) killOne(cluster, fault, first);
      cluster.faultEnds();
    });
    return undefined;
  },
  'death after a promotion': (cluster, fault) => {
    const { dice } = fault;
    killOne(cluster, fault);
    return cluster.store.onceWriting(
      (op, process) => isTakenBy(op, process.name),
      (process) => {
        const at = process.operations + dice.whole(...OPERATIONS);
        process.onOperation = () => {
          if (process.operations < at) return;
          process.onOperation = undefined;
          const one = cluster.named(process.name);
          if (one.running !== process) return;
          happened(cluster, fault, `${process.name}, which has begun to lead units`);
          one.kill(false);
        };
      },
    );
  },
};
