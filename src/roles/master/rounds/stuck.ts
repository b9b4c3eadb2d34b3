/**
 * A round that can no longer be computed: a pserver wants lanes of it, and another one is past it and no longer has the
 * version that they are computed from. That cannot happen as long as all processes follow the protocol. If it does, all
 * pservers go back to the cut, as nothing else helps.
 */

import { rolledBack } from '../../../checkpoint/registry/cut.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { type CutView, raiseTimeline } from '../../../cluster/placement/cut-view.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Fence } from '../../../store/fence.ts';

type Report = Extract<RequestHeader, { type: 'roundStuck' }>;

export interface StuckOptions {
  readonly context: RoleContext;
  readonly group: PserverGroup;
  readonly fence: Fence;
  readonly stored: CutView;
  readonly stopSignal: AbortSignal;
}

/** Returns when the report was checked; reports that come in that time wait for the same check. */
export function createStuckJudge(options: StuckOptions): (report: Report) => Promise<void> {
  let judging: Promise<void> | undefined;
  return (report) => {
    judging ??= judge(options, report).finally(() => {
      judging = undefined;
    });
    return judging;
  };
}

async function judge(options: StuckOptions, { trainer, timeline, round }: Report): Promise<void> {
  const { context, group, fence, stored, stopSignal } = options;
  if (stored.current()?.cut.timeline !== timeline) return;
  const found = await group.withPlacement(
    'a round that is stuck',
    ({ pservers }) => findStuck(group, pservers),
    stopSignal,
  );
  if (found === undefined || found.timeline !== timeline) return;
  const { behind, version, oldest } = found;
  context.host.log.error(`round ${version} can no longer be computed: all pservers go back to the cut`, {
    behind,
    oldest,
    reportedBy: trainer,
    round,
  });
  await raiseTimeline(context, fence, (cut) => (cut.timeline === timeline ? rolledBack(cut) : undefined));
}

/**
 * A version is given up when every pserver has the next one. So those that are behind are asked once more, after the
 * others have said what they gave up: if all is well, they have that version by then.
 */
async function findStuck(group: PserverGroup, pservers: readonly PlacedPserver[]) {
  const first = await ask(group, pservers);
  const oldest = Math.max(...first.map((one) => one.oldest));
  const behind = first.filter(({ version }) => version < oldest);
  const still = (
    await ask(
      group,
      behind.map(({ pserver }) => pserver),
    )
  ).filter(({ version }) => version < oldest);
  const [lowest] = still.sort((a, b) => a.version - b.version);
  const timelines = new Set([...first, ...still].map(({ timeline }) => timeline));
  if (lowest === undefined || lowest.missing.length === 0 || timelines.size > 1) return undefined;
  return { timeline: lowest.timeline, behind: lowest.pserver.index, version: lowest.version, oldest };
}

function ask(group: PserverGroup, pservers: readonly PlacedPserver[]) {
  return allSettledOrThrow(
    pservers.map(async (pserver) => {
      const reply = await group.ask(pserver, 'rounds', { maxWaitMs: 0 });
      reply.free();
      return { pserver, ...reply.header };
    }),
  );
}
