/**
 * How a pserver knows the master: each master writes a random secret with its lock and under its lease, and names it in
 * the requests that only a master may make. Others that can reach a pserver cannot read the store.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { follow } from '../../store/follow.ts';
import type { RoleContext } from '../context.ts';

export interface MasterSecret {
  /**
   * Throws `NotMaster` for another secret than the one in the store, as this process knows it: a new master may be
   * known only at its second try.
   */
  readonly check: (claimed: string | undefined) => void;
  readonly cancel: Cancel;
}

export function followMasterSecret(context: RoleContext, onFatal: (error: Error) => void): MasterSecret {
  const { keys, store, host } = context;
  const key = keys.masterSecret;
  let current: string | undefined;
  const cancel = follow(
    store,
    key,
    {
      onSnapshot: (entries) => {
        current = entries.find((entry) => entry.key === key)?.value;
      },
      onEvents: (events) => {
        for (const event of events) {
          if (event.type === 'put' && event.entry.key === key) current = event.entry.value;
          if (event.type === 'delete' && event.key === key) current = undefined;
        }
      },
      onEnd: onFatal,
    },
    host.clock,
  );
  return {
    check(claimed) {
      if (claimed !== undefined && current !== undefined && isSame(claimed, current)) return;
      throw new PaddletError('NotMaster', 'only the master may send this request, and its secret is wrong');
    },
    cancel,
  };
}

/** In a time that does not depend on where they differ. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
