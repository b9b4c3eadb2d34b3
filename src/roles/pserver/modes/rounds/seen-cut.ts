/** The cut as this pserver has seen it, and its timeline. */
import type { Cut } from '../../../../checkpoint/registry/cut.ts';
import type { CutView } from '../../../../cluster/placement/cut-view.ts';

export const timelineOf = ({ current }: CutView): number => current()?.cut.timeline ?? 0;

/** The cut that all go back to, if its timeline is higher than that. */
export function cutAbove(cuts: CutView, timeline: number): Cut | undefined {
  const cut = cuts.current()?.cut;
  return cut !== undefined && cut.timeline > timeline ? cut : undefined;
}

/** Resolves when all go back to a cut under a higher timeline than that. */
export async function untilAbove(cuts: CutView, timeline: number, signal: AbortSignal): Promise<void> {
  await cuts.changed.until(() => cutAbove(cuts, timeline), signal);
}
