/**
 * A master and a pserver answer nothing unless the store still has their lease: but `info`, and parts of files, which
 * never change under their names.
 */
import { isPaddletError } from '../../../src/base/errors.ts';
import type { SimulatedProcess } from '../process.ts';
import type { Oracle, World } from './oracle.ts';

const ALWAYS: ReadonlySet<string> = new Set(['info', 'readFile']);

export function ownership(world: World): Oracle {
  const { keys } = world;
  const claims = new WeakMap<SimulatedProcess, { readonly key: string; readonly leaseId: bigint }>();
  return {
    wrote({ process, key }) {
      if (key !== keys.masterLock && !key.startsWith(keys.psPrefix)) return;
      claims.set(process, { key, leaseId: world.get(key)!.leaseId });
    },
    answered({ server, request, outcome }) {
      if (server.role === 'trainer' || ALWAYS.has(request.type) || isPaddletError(outcome)) return;
      // Nothing tells it that its machine slept: recovery numbers and timelines keep that from doing harm.
      if (server.hadStoppedClock) return;
      const claim = claims.get(server);
      if (claim !== undefined && world.get(claim.key)?.leaseId === claim.leaseId) return;
      world.violated(`${server.name} answered '${request.type}' although its lease had ended in the store`);
    },
  };
}
