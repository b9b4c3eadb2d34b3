/** Random histories of a whole cluster against the queue, with masters that restart from exactly what was saved. */

import { describe, expect, it } from 'vitest';
import * as fc from '../../properties.ts';
import { actions, Cluster, options } from './queue-cluster.ts';

describe('any history of trainers, masters and the clock', () => {
  it('keeps every task of a pass in one queue, accepts each once, ends every pass, and survives its master', () => {
    fc.assert(
      fc.property(options, actions, (rig, history) => {
        const cluster = new Cluster(rig);
        for (const action of history) cluster.act(action);
        cluster.heal();
      }),
      { numRuns: 120 },
    );
  });

  it('reaches the cases that matter: discards, failed jobs, timeouts, lost answers, refused finishes', () => {
    const seen = new Map<string, number>();
    for (const [rig, history] of fc.sample(fc.tuple(options, actions), { numRuns: 150, seed: 1 })) {
      const cluster = new Cluster(rig);
      const effectsOf = cluster.effectsOf.bind(cluster);
      cluster.effectsOf = (event) => {
        const effects = effectsOf(event);
        for (const effect of effects) {
          const what =
            effect.type === 'refuse'
              ? effect.code
              : effect.type === 'requeued'
                ? `back: ${effect.why.split(' ').at(-1)}`
                : effect.type;
          seen.set(what, (seen.get(what) ?? 0) + 1);
        }
        return effects;
      };
      for (const action of history) cluster.act(action);
      if (cluster.hasFailed) continue;
      cluster.heal();
    }
    const wanted = [
      'deal',
      'none',
      'accept',
      'AttemptNotLive',
      'PassBefore',
      'discarded',
      'failed',
      'passEnded',
      'ended',
      'speculated',
    ];
    const back = ['back: ms', 'back: lost', 'back: left', 'back: it', 'back: broke'];
    for (const what of [...wanted, ...back]) expect([what, (seen.get(what) ?? 0) > 4]).toEqual([what, true]);
  });
});
