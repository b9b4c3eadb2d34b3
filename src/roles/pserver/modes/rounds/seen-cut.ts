/** Sync mode: the newest cut that this pserver has seen, and its timeline. */
import type { Cut } from '../../../../checkpoint/registry/cut.ts';
import type { CutView } from '../../../../cluster/placement/cut-view.ts';

export const timelineOf = ({ current }: CutView): number => current()?.cut.timeline ?? 0;

/** The cut that all pservers go back to, if its timeline is higher than `timeline`. */
export function cutAbove(cuts: CutView, timeline: number): Cut | undefined {
  const cut = cuts.current()?.cut;
  return cut !== undefined && cut.timeline > timeline ? cut : undefined;
}

/** Resolves when all pservers go back to a cut under a timeline higher than `timeline`. */
export async function untilAbove(cuts: CutView, timeline: number, signal: AbortSignal): Promise<void> {
  await cuts.changed.until(() => cutAbove(cuts, timeline), signal);
}
