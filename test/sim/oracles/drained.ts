/** A pserver that was not wanted any more, and ends because it has handed over everything, leaves nothing behind. */

import { EXIT } from '../../../src/base/errors.ts';
import type { Head } from '../../../src/cluster/placement/heads.ts';
import type { PserverRecord } from '../../../src/cluster/placement/pserver-record.ts';
import { indexOf, type Oracle, type World } from './oracle.ts';

export function drained(world: World): Oracle {
  const { keys } = world;

  function isNotWanted(index: number): boolean {
    const desired = world.get(keys.psDesired);
    return desired !== undefined && index >= Number(desired.value);
  }

  /** Its last word, when it had to leave something for the master to delete. */
  function isDown(index: number): boolean {
    const record = world.get(keys.pserver(index));
    return record !== undefined && (JSON.parse(record.value) as PserverRecord).status === 'down';
  }

  const headsOf = (index: number): string[] =>
    world.keyNames().filter((key) => {
      if (!key.startsWith(keys.headsPrefix)) return false;
      const { primary, rest } = JSON.parse(world.get(key)!.value) as Head;
      return primary.index === index || rest?.index === index;
    });

  return {
    ended(process, code) {
      // One whose job is over ends as well: the result may be gone by now, as the next master continues the job.
      if (!process.hasLeft || code !== EXIT.done || world.get(keys.result) !== undefined) return;
      const index = indexOf(process);
      if (!isNotWanted(index) || isDown(index)) return;
      world.count('drained pserver');
      const left = [keys.pserver(index), keys.checkpoint(index)].filter((key) => world.get(key) !== undefined);
      // What a disk refused to delete is found by the next pserver of that index.
      const files = world.refusedWrites(index) ? [] : world.filesOf(index);
      const all = [...headsOf(index), ...left, ...files];
      if (all.length > 0) world.violated(`pserver ${index} has left, and left ${all.join(', ')}`);
    },
  };
}
