/**
 * Discarded tasks are closed in the ledgers. To the file that was loaded, and to the last one that is written, a closure
 * is what a push is: the first must be marked before it, the last must have it.
 */
import { PaddletError } from '../../../base/errors.ts';
import { CLOSED } from '../../../core/shard/ledger.ts';
import type { Outgoing } from '../../../protocol/messages/channel.ts';
import type { ReplyHeader } from '../../../protocol/messages/messages.ts';
import { checkHeld } from '../check-held.ts';
import type { Serving } from '../serve.ts';

type Reply = Outgoing<ReplyHeader>;

interface ClosedTask {
  readonly pass: number;
  readonly task: number;
  readonly records: number;
}

type Closing = Pick<Serving, 'ledger' | 'open' | 'isFrozen' | 'isHeld'>;

/** Throws `Draining` when one that is open would have to be closed after the last checkpoint. */
export function closeTasks(serving: Closing, tasks: readonly ClosedTask[]): Reply | Promise<Reply> {
  const { ledger } = serving;
  const close = (): Reply => {
    const open = tasks.filter(({ pass, task }) => ledger.position(pass, task) !== CLOSED);
    if (open.length > 0 && serving.isFrozen()) {
      throw new PaddletError('Draining', 'this pserver is leaving and closes no more tasks');
    }
    for (const { pass, task, records } of open) ledger.close(pass, task, records);
    return { header: { type: 'closeTasks' } };
  };
  // Asked again, as by each new master, it changes nothing.
  if (tasks.every(({ pass, task }) => ledger.position(pass, task) === CLOSED)) return close();
  const opening = serving.open();
  if (opening === undefined) return close();
  return opening.then(() => {
    checkHeld(serving);
    return close();
  });
}
