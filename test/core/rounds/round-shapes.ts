import {
  explore,
  isEnd,
  isLost,
  isOneTimeline,
  LANES,
  lowestVersion,
  type ModelOptions,
  type ModelState,
} from './round-model.ts';

/** What holds in every state while trainers keep to the rule. */
function inspect(state: ModelState, seen: { ends: number; rollbacks: number }): void {
  if (isEnd(state)) seen.ends += 1;
  seen.rollbacks = Math.max(seen.rollbacks, state.timeline);
  for (const { version, folded, here, keepsPrevious, restarted } of state.pservers) {
    // Every lane of every round before this version was applied, once.
    if (folded !== 2 ** (LANES * version) - 1) throw new Error('a version is not made of its rounds');
    // A unit that moves has lost the lanes that show why.
    const isExcused = restarted || state.moves > 0;
    if (!keepsPrevious && here === 0 && version > state.cut && !isExcused) throw new Error('a version went too early');
  }
  if (!isOneTimeline(state)) return;
  const highest = Math.max(...state.pservers.map(({ version }) => version));
  if (highest - lowestVersion(state) > 1) throw new Error('pservers are more than a round apart');
  const restarted = state.pservers.some((one) => one.restarted);
  if (!restarted && isLost(state)) throw new Error('a lane that is wanted cannot be computed any more');
}

/** All that can happen, inspected; and how it can end. */
export function run(options: ModelOptions): {
  states: number;
  stuck: readonly ModelState[];
  ends: number;
  rollbacks: number;
} {
  const seen = { ends: 0, rollbacks: 0 };
  return { ...explore(options, (state) => inspect(state, seen)), ...seen };
}
