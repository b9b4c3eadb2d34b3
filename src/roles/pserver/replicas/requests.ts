/** Requests of pservers that lead units to those that have copies of them; what else is asked of copies. */
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { isSameOwner, type UnitOwner } from '../../../core/units/move-messages.ts';
import type { Session } from '../../../protocol/messages/channel.ts';
import type { Reply, Request } from '../requests/requests.ts';
import { decodeBatch, encodeAnswers } from './replicate-codec.ts';
import type { ServedReplicas } from './served-replicas.ts';
import { shownCopies } from './shown-copies.ts';

export function openReplicas(
  { me, inboxes }: ServedReplicas,
  { header: { primary, member } }: Request<'openReplicas'>,
  session: Session,
): Reply {
  checkMember(me, member);
  return { header: { type: 'openReplicas', windowBytes: inboxes.opened(primary, session) } };
}

export async function replicate(
  { me, job, placing, inboxes }: ServedReplicas,
  request: Request<'replicate'>,
  session: Session,
): Promise<Reply> {
  checkMember(me, request.header.member);
  const { primary, batch } = decodeBatch(job, request, placing.nextOrder());
  const answer = await inboxes.received(primary, batch, session);
  if (batch.frames.some(({ frame }) => frame.type === 'stage')) failPoint('copies.staged');
  return encodeAnswers(answer);
}

export function unitCopies(replicas: ServedReplicas, { header }: Request<'unitCopies'>): Reply {
  checkMember(replicas.me, header.pserver);
  return { header: { type: 'unitCopies', ...shownCopies(replicas, header.from) } };
}

export async function copyDigest({ me, digests }: ServedReplicas, { header }: Request<'copyDigest'>): Promise<Reply> {
  checkMember(me, header.pserver);
  return { header: { type: 'copyDigest', ...(await digests.of(header)) } };
}

/** Another process may have had the address before, or the index. */
function checkMember(me: UnitOwner, member: UnitOwner): void {
  if (isSameOwner(me, member)) return;
  throw new PaddletError(
    'NotReady',
    `the request is for another pserver: this is pserver ${me.index} with token ${me.token}`,
  );
}
