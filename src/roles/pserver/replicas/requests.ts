/** Answers the requests of primaries to this pserver as a backup, and other requests about copies. */
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { LIMITS } from '../../../base/limits.ts';
import { isIn } from '../../../core/replicas/messages.ts';
import { isSameOwner, type UnitOwner } from '../../../core/units/move-messages.ts';
import type { Session } from '../../../protocol/messages/channel.ts';
import type { ShownCopy } from '../../../protocol/messages/copies.ts';
import type { Reply, Request } from '../requests/requests.ts';
import { decodeBatch, encodeAnswers } from './replicate-codec.ts';
import type { ServedReplicas } from './served-replicas.ts';

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

/** Another process may have had the address or the index before. */
function checkMember(me: UnitOwner, member: UnitOwner): void {
  if (isSameOwner(me, member)) return;
  throw new PaddletError(
    'NotReady',
    `the request is for another pserver: this is pserver ${me.index} with token ${me.token}`,
  );
}

interface ShownUnit {
  readonly unit: number;
  readonly epoch: number;
  readonly committed: number;
  readonly staged: number;
  readonly copies: ShownCopy[];
}

type Shown = Pick<ServedReplicas, 'machines' | 'joins'>;

/** Shows the units that this pserver leads, beginning with the unit `from`. */
export function shownCopies({ machines, joins }: Shown, from: number): { units: ShownUnit[]; more: boolean } {
  const led = machines
    .units()
    .filter((unit) => unit >= from && machines.of(unit)?.role === 'leading')
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
