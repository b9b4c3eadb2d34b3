/**
 * Who has copies of a unit, as its head says. Only its primary changes that, or a member that takes the place of a
 * primary that is gone; each such change begins an epoch, and nothing else does.
 */
import { type Head, parseHead, sameOwner } from '../../../src/cluster/placement/heads.ts';
import type { LedUnits } from './led-units.ts';
import type { Oracle, World, Written } from './oracle.ts';

const isIn = (members: readonly Head['primary'][], one: Head['primary']): boolean =>
  members.some((member) => sameOwner(member, one));

export function copies(world: World, led: LedUnits): Oracle {
  const { keys } = world;

  function changed({ process, key, value, before }: Written): void {
    const head = parseHead(key, value);
    if (!isIn(head.inSync, head.primary)) world.violated(`${key}: the primary is not in the in-sync set`);
    if (
      head.inSync.length >
      head.inSync.filter((one, at) => head.inSync.findIndex((other) => sameOwner(one, other)) === at).length
    )
      world.violated(`${key}: a process is in the in-sync set twice`);
    const last = before && parseHead(key, before.value);
    if (last === undefined || !led.hasCopy(last)) return;
    const [added, removed] = [without(head.inSync, last.inSync), without(last.inSync, head.inSync)];
    const isOther = !sameOwner(head.primary, last.primary);
    const isSame = added.length === 0 && removed.length === 0 && !isOther;
    const by = led.tokenOf(process);
    for (const _ of added) world.count('copy joined');
    for (const _ of removed) world.count('copy taken out');
    if (isSame && head.epoch !== last.epoch) world.violated(`${key}: an epoch begins with the same copies`);
    if (!isSame && head.epoch !== last.epoch + 1) world.violated(`${key}: other copies, and no next epoch`);
    if (led.isLive(last.primary) && by !== last.primary.token)
      world.violated(`${process.name} changed ${key}, whose primary lives`);
    if (!isIn(last.inSync, { ...head.primary })) world.violated(`${key} names a primary that was not in sync`);
    if (by !== undefined && !last.inSync.some(({ token }) => token === by))
      world.violated(`${process.name} changed ${key}, and has no copy of it`);
    for (const one of added) if (!led.isLive(one)) world.violated(`${key}: pserver ${one.index} joined, and is gone`);
  }

  return {
    wrote(written) {
      if (world.replicas > 1 && written.key.startsWith(keys.headsPrefix)) changed(written);
    },
  };
}

const without = (all: Head['inSync'], others: Head['inSync']): Head['inSync'] =>
  all.filter((one) => !isIn(others, one));
