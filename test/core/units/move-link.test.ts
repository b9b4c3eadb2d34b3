/** Both sides, with a connection in order until it is cut: whatever happens, the move completes. */

import { describe, expect, it } from 'vitest';
import * as fc from '../../properties.ts';
import { MoveRig, NEXT_HEAD, SHARDS } from './move-rig.ts';

const happening = fc.oneof(
  { weight: 6, arbitrary: fc.constant('deliver' as const) },
  { weight: 5, arbitrary: fc.constant('answer' as const) },
  { weight: 3, arbitrary: fc.constant('update' as const) },
  ...(['cut', 'connect', 'late', 'handOver'] as const).map((one) => ({ weight: 1, arbitrary: fc.constant(one) })),
);

const windowBytes = fc.integer({ min: 1, max: 120 });
const updateBytes = fc.integer({ min: 1, max: 40 });

function happen(rig: MoveRig, what: string, at: number): void {
  if (what === 'deliver') rig.deliver();
  else if (what === 'answer') rig.answer();
  else if (what === 'update') rig.update();
  else if (what === 'cut') rig.cut();
  else if (what === 'connect') rig.connect();
  else if (what === 'late') rig.deliverLate(at);
  else if (rig.happened.includes('caughtUp')) rig.submit({ type: 'handOver' });
}

/** Bytes of the frames under way. */
function bytesSent(rig: MoveRig): number[] {
  const { frames, sent } = rig.source.state().window;
  return frames.slice(0, sent).map(({ byteLength }) => byteLength);
}

describe('a move', () => {
  it('completes with equal copies whatever is lost, late or repeated', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(happening, fc.nat(50)), { maxLength: 120, size: 'max' }),
        windowBytes,
        updateBytes,
        (happenings, window, update) => {
          const rig = new MoveRig(window, update);
          for (const [what, at] of happenings) {
            happen(rig, what, at);
            const sent = bytesSent(rig);
            if (sent.length > 1) expect(sent.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(window);
          }
          rig.settle();
          rig.submit({ type: 'handOver' });
          rig.settle();
          expect(rig.happened).toEqual(['caughtUp', 'propose']);
          expect(rig.copy).toEqual(rig.logs);
          // All but the five from before the move were answered, in order.
          expect(rig.acknowledged).toEqual(Array.from({ length: rig.updates - 5 }, (_, at) => at + 5));
          rig.submit({ type: 'decided', outcome: 'succeeded' });
          rig.tell({ type: 'seen', head: NEXT_HEAD, isPrimaryAlive: true });
          expect(rig.happened).toEqual(['caughtUp', 'propose', 'moved', 'lead']);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('copies one shard at a time, whatever the window', () => {
    const rig = new MoveRig(10_000);
    rig.deliver();
    rig.answer();
    const { window, captured } = rig.source.state();
    expect(captured).toBe(SHARDS.length);
    expect(window.sent).toBe(window.frames.length);
    const narrow = new MoveRig(10);
    narrow.deliver();
    narrow.answer();
    expect(narrow.source.state()).toMatchObject({ captured: 1, window: { sent: 1 } });
  });
});
