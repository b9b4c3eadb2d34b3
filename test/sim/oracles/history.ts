/** A point of the curves that was shown stays what it is, whatever dies; only the list is thinned. */
import { NO_HISTORY, parseHistory, type TrainPoint } from '../../../src/core/history.ts';
import type { Oracle, World } from './oracle.ts';

export function history(world: World): Oracle {
  const { keys, mode } = world;
  const positionOf = ({ round, records }: TrainPoint): number => (mode === 'sync' ? round! : records);

  return {
    wrote({ key, value, before, process }) {
      if (key !== keys.history) return;
      const now = parseHistory(key, value);
      const shown = before === undefined ? NO_HISTORY : parseHistory(key, before.value);
      const newest = shown.train.at(-1);
      const upTo = newest === undefined ? 0 : positionOf(newest);
      const known = new Set([...shown.train, ...shown.passes].map((point) => JSON.stringify(point)));
      const kept = now.train.filter((point) => positionOf(point) <= upTo);
      const passes = now.passes.filter(({ pass }) => pass <= (shown.passes.at(-1)?.pass ?? -1));
      for (const point of [...kept, ...passes])
        if (!known.has(JSON.stringify(point)))
          world.violated(`${process.name} changed a point of the curves: ${JSON.stringify(point)}`);
      const isThinned = kept.length < shown.train.length;
      if (isThinned && kept.length < shown.train.length >> 1)
        world.violated(`${process.name} lost points of the curves: ${shown.train.length} are ${kept.length}`);
      if (passes.length < shown.passes.length) world.violated(`${process.name} lost the point of a pass`);
      for (const [at, { records }] of now.train.entries())
        if (records <= (now.train[at - 1]?.records ?? 0)) world.violated(`a point of the curves counts no records`);
      world.count('point of a curve');
    },
  };
}
