/** What is told of the copies of the units that this pserver leads, to `status`. */
import { LIMITS } from '../../../base/limits.ts';
import { isIn } from '../../../core/replicas/messages.ts';
import type { ShownCopy } from '../../../protocol/messages/copies.ts';
import type { ServedReplicas } from './served-replicas.ts';

interface ShownUnit {
  readonly unit: number;
  readonly epoch: number;
  readonly committed: number;
  readonly staged: number;
  readonly copies: ShownCopy[];
}

type Shown = Pick<ServedReplicas, 'machines' | 'joins'>;

/** From this unit on. */
export function shownCopies({ machines, joins }: Shown, from: number): { units: ShownUnit[]; more: boolean } {
  const led = machines
    .units()
    .filter((unit) => unit >= from && machines.of(unit)?.standing === 'leading')
    .sort((a, b) => a - b);
  const making = joins.making();
  const units = led.slice(0, LIMITS.shownUnits).flatMap((unit) => shownUnit({ machines }, unit, making.get(unit)));
  return { units, more: led.length > LIMITS.shownUnits };
}

function shownUnit({ machines }: Pick<Shown, 'machines'>, unit: number, making: ReadonlySet<number> = new Set()) {
  const { log, role } = machines.of(unit)!.state();
  if (role.is !== 'primary') return [];
  const { head, peers } = role;
  const copies = peers.map(({ owner, committed, isBegun }): ShownCopy => {
    const state = isIn(head.inSync, owner) ? 'inSync' : 'joining';
    return { index: owner.index, state, ...(isBegun && { behind: log.committed - committed }) };
  });
  const filling = [...making].filter((index) => !peers.some(({ owner }) => owner.index === index));
  const shown: ShownUnit = {
    ...{ unit, epoch: head.epoch, committed: log.committed },
    staged: log.base + log.updates.length - log.committed,
    copies: [...copies, ...filling.map((index): ShownCopy => ({ index, state: 'copying' }))],
  };
  return [shown];
}
