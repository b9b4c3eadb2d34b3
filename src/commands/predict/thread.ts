/** A thread of `paddlet predict`: makes parts that it is sent, with values that the process pulls for it. */
import type { MessagePort } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { sentError } from '../../base/sent-error.ts';
import { createDisk } from '../../host/disk.ts';
import type { PulledValues } from '../../model/model.ts';
import type { ScoreClient } from '../../roles/evaluator/score-groups.ts';
import { createPartMaker, type PartMakerOptions } from './part-maker.ts';
import type { FromThread, ToThread } from './thread-messages.ts';

/** The part was given up: its process knows why. */
const GIVEN_UP = new Error('the process has given up the part');

export function makeParts(port: MessagePort, options: PartMakerOptions): void {
  const opened = createPartMaker(options, createDisk());
  // An error is that of each part, of which none may have come yet.
  opened.catch(() => undefined);
  port.on('close', () => void opened.then((maker) => maker.close()).catch(() => undefined));
  // The process says when a part is given up.
  const { signal } = new AbortController();
  const asked = new Map<number, PromiseWithResolvers<PulledValues | BigUint64Array>>();
  const tell = (message: FromThread): void => port.postMessage(message);
  const ask = (message: FromThread & { kind: 'pull' | 'knownIds' }): Promise<PulledValues | BigUint64Array> => {
    const answered = Promise.withResolvers<PulledValues | BigUint64Array>();
    asked.set(message.id, answered);
    tell(message);
    return answered.promise;
  };
  const clientOf = (id: number, tellsIds: boolean): ScoreClient => ({
    async pull(lists) {
      // Copies the ids alone: an array would be sent with the whole memory that it is in.
      const ids = lists.map(({ ids: all, count }) => ({ ids: all.slice(0, 8 * count), count }));
      const values = await ask({ kind: 'pull', id, ids });
      assert('dense' in values, 'values are the answer to a pull');
      return values;
    },
    ...(tellsIds && {
      async knownIds(table: number, ids: BigUint64Array) {
        const known = await ask({ kind: 'knownIds', id, table, ids });
        assert('length' in known, 'ids are the answer to ids');
        return known;
      },
    }),
  });
  port.on('message', (message: ToThread) => {
    const { id } = message;
    if (message.kind === 'answer') {
      const waiting = asked.get(id);
      asked.delete(id);
      if (message.answer === undefined) waiting?.reject(GIVEN_UP);
      else waiting?.resolve(message.answer);
      return;
    }
    opened
      .then(({ make }) => make(message.part, clientOf(id, message.tellsIds), signal))
      .then(
        (made) => tell({ kind: 'made', id, made }),
        (error: unknown) => tell({ kind: 'failed', id, error: sentError(error) }),
      );
  });
}
