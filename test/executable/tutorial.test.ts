/**
 * docs/tutorial.md: its commands run as they are written and print what it shows; its model finds what the log was made
 * with.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { asInSample } from '../samples.ts';
import { ROOT } from '../source-files.ts';
import { outputsIn, scriptOf, stepsOf } from './document-steps.ts';
import { openPlace } from './harness.ts';
import { PADDLET } from './processes.ts';

const text = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8');

/** All but the first, which sets the paths of the reader's machine. */
const steps = stepsOf(text).slice(1);

/** Runs all steps in one shell; what each of them printed. */
function runSteps(cwd: string): string[] {
  const out = execFileSync('bash', ['-euc', scriptOf(steps)], {
    cwd,
    env: {
      ...process.env,
      EXAMPLES: join(ROOT, 'examples/tutorial'),
      PATH: `${dirname(PADDLET)}:${process.env.PATH}`,
    },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return outputsIn(out);
}

test('runs as written and prints its samples; both sync runs have one model; the scores show the rule', () => {
  const outputs = runSteps(openPlace().path('.'));
  const shown = steps.flatMap(({ sample }, at) => (sample === undefined ? [] : [{ sample, printed: outputs[at]! }]));
  expect(shown.length).toBeGreaterThan(6);
  expect(shown.map(({ printed, sample }) => asInSample(printed, sample))).toEqual(shown.map(({ sample }) => sample));
  const out = outputs.join('');
  const models = [...out.matchAll(/^model +([0-9a-f]{64})$/gm)].map(([, digest]) => digest);
  expect(models).toHaveLength(3);
  expect(models[2]).toBe(models[1]);
  const ads = [...out.matchAll(/^\d\.\d{3} ad=ad(\d+)$/gm)].map(([, ad]) => Number(ad));
  expect(ads).toHaveLength(5);
  for (const ad of ads) expect(ad % 7).toBe(6);
});
