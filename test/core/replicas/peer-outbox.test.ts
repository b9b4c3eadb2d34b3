/** What a primary is told of the answers of a peer. */
import { expect, it } from 'vitest';
import type { LinkName, ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import type { SharedPayload } from '../../../src/core/replicas/peer-link.ts';
import { PeerOutbox } from '../../../src/core/replicas/peer-outbox.ts';
import { PeerRoom } from '../../../src/core/replicas/peer-room.ts';
import { A, B } from './copies.ts';

const linkTo = (unit: number): LinkName => ({ unit, epoch: 1, primary: A, member: B });
const BEGIN: ReplicaFrame<SharedPayload> = { type: 'begin', base: 0, tail: [], committed: 0 };
const STAGED = { type: 'staged', through: 0, committed: 0 } as const;

it('is told nothing that is older than a beginning that waits', () => {
  const outbox = new PeerOutbox<SharedPayload>(B, new PeerRoom(), 1);
  const connection = outbox.opened(1_000);
  for (const unit of [1, 2]) outbox.send(linkTo(unit), BEGIN);
  expect(outbox.batches(true)).toHaveLength(1);
  outbox.send(linkTo(1), BEGIN);
  expect(outbox.answered(connection, [STAGED, STAGED])).toEqual([{ link: linkTo(2), answer: STAGED }]);
  expect(outbox.batches(true).map(({ batch }) => batch.frames)).toEqual([[{ link: linkTo(1), frame: BEGIN }]]);
});
