/** Commit positions wait for something that they can ride on. */
import { beforeEach, expect, it } from 'vitest';
import type { ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import type { SharedPayload } from '../../../src/core/replicas/peer-link.ts';
import { PeerLinks } from '../../../src/core/replicas/peer-links.ts';
import { A, B } from './copies.ts';

const BYTES = 100;
const PAYLOAD: SharedPayload = { order: 1, bytesByUnit: new Map([[2, BYTES]]) };

let links: PeerLinks<SharedPayload>;

beforeEach(() => {
  links = new PeerLinks(2);
  links.opened(B, 10 * BYTES);
  for (const unit of [1, 2]) links.setPeers(unit, [B]);
});

function send(unit: number, frame: ReplicaFrame<SharedPayload>): void {
  links.effects(unit, [{ type: 'send', link: { unit, epoch: 1, primary: A, member: B }, frame }]);
}

const sent = (areCommitsDue: boolean): string[] =>
  links
    .batches(areCommitsDue)
    .map(({ batch }) => batch.frames.map(({ link, frame }) => `${frame.type} ${link.unit}`).join(', '));

it('until there is an update, or they are due', () => {
  send(1, { type: 'commit', committed: 4 });
  expect(links.haveCommits).toBe(true);
  expect(sent(false)).toEqual([]);
  send(2, { type: 'stage', update: { name: { position: 1, epoch: 1 }, payload: PAYLOAD }, committed: 0 });
  expect(sent(false)).toEqual(['stage 2, commit 1']);
  expect(links.haveCommits).toBe(false);
  send(1, { type: 'commit', committed: 5 });
  expect(sent(true)).toEqual(['commit 1']);
});

it('and not while an update waits for room', () => {
  send(1, { type: 'commit', committed: 4 });
  links.queue.ask(1, PAYLOAD.bytesByUnit);
  expect(sent(false)).toEqual(['commit 1']);
});
