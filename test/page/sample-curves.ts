/** Curves that fall and rise as those of a job do, the same ones each time. */
import type { PageCurve } from '../../src/page/page-data.ts';

const STEP = 371_456;

/** `points`: of the evaluations; of training there are eight times as many. */
export function sampleCurves(points: number): PageCurve[] {
  const trained = Array.from({ length: points * 8 }, (_, at) => ((at + 1) * STEP) / 8);
  const evaluated = Array.from({ length: points }, (_, at) => (at + 1) * STEP);
  const wave = (x: number): number => Math.sin(x / 37_001) * 0.006;
  const falling = (x: number): number => 0.43 + 0.22 / (1 + x / 400_000);
  return [
    { name: 'train', trained, metrics: { logloss: trained.map((x) => falling(x) + wave(x)) } },
    {
      name: 'test',
      trained: evaluated,
      metrics: {
        logloss: evaluated.map((x) => falling(x) + 0.006),
        auc: evaluated.map((x) => 0.79 - 0.2 / (1 + x / 300_000)),
        calibration: evaluated.map((x, at) => (at === 0 ? null : 1 + wave(x) * 4)),
      },
    },
  ];
}
