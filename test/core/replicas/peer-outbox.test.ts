/** What a primary is told of the answers of a peer. */
import { expect, it } from 'vitest';
import type { SharedPayload } from '../../../src/core/replicas/peer-link.ts';
import { PeerOutbox } from '../../../src/core/replicas/peer-outbox.ts';
import { PeerRoom } from '../../../src/core/replicas/peer-room.ts';
import { B } from './copies.ts';
import { begin as BEGIN, linkTo, payload, stage, staged } from './link-frames.ts';

const STAGED = staged(0, 0);

it('is told nothing that is older than a beginning that waits', () => {
  const outbox = new PeerOutbox<SharedPayload>(B, new PeerRoom(), 1);
  const connection = outbox.opened(1_000);
  for (const unit of [1, 2]) outbox.send(linkTo(unit), BEGIN);
  expect(outbox.batches(true)).toHaveLength(1);
  outbox.send(linkTo(1), BEGIN);
  expect(outbox.answered(connection, [STAGED, STAGED])).toEqual([{ link: linkTo(2), answer: STAGED }]);
  expect(outbox.batches(true).map(({ batch }) => batch.frames)).toEqual([[{ link: linkTo(1), frame: BEGIN }]]);
});

it('sends a beginning in place of what waits for the unit, not before it', () => {
  const outbox = new PeerOutbox<SharedPayload>(B, new PeerRoom(), 1);
  const connection = outbox.opened(1_000);
  for (const unit of [1, 2]) outbox.send(linkTo(unit), BEGIN);
  expect(outbox.batches(true)).toHaveLength(1);
  const update = payload(1, 1, 2);
  for (const unit of [1, 2]) outbox.send(linkTo(unit), stage(update, 1));
  outbox.send(linkTo(1), { type: 'commit', committed: 1 });
  outbox.send(linkTo(1), BEGIN);

  outbox.answered(connection, [STAGED, STAGED]);
  const [next] = outbox.batches(true);
  expect(next!.batch.frames).toEqual([
    { link: linkTo(1), frame: BEGIN },
    { link: linkTo(2), frame: stage(update, 1) },
  ]);
  outbox.answered(connection, [STAGED, staged(1, 0)]);
  expect(outbox.batches(true)).toEqual([]);
});
