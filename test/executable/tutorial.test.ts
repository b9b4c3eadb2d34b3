/**
 * docs/tutorial.md: its commands run as they are written and print what it shows; its model finds what the log was made
 * with.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { asInSample, blocksOf } from '../samples.ts';
import { ROOT } from '../source-files.ts';
import { openPlace } from './harness.ts';
import { PADDLET } from './processes.ts';

const text = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8');

interface Step {
  readonly commands: string;
  /** What they print, where the tutorial shows it. */
  readonly sample: string | undefined;
}

/** Every block of commands, all of which run; a block without a language after it is its sample. */
function stepsOf(document: string): Step[] {
  const blocks = blocksOf(document);
  const isSample = (at: number): boolean => blocks[at]?.language === '' && blocks[at - 1]?.language === 'bash';
  const stray = blocks.filter(({ language }, at) => language !== 'bash' && !isSample(at));
  if (stray.length > 0) throw new Error(`neither commands nor a sample of what they print: ${stray[0]!.text}`);
  return blocks.flatMap(({ language, text: commands }, at) =>
    language === 'bash' ? [{ commands, sample: isSample(at + 1) ? blocks[at + 1]!.text : undefined }] : [],
  );
}

/** All but the first, which sets the paths of the reader's machine. */
const steps = stepsOf(text).slice(1);

/** Runs blocks of commands in one shell; what each of them printed. */
function runEach(blocks: readonly string[], cwd: string): string[] {
  const mark = '--- the end of a block ---\n';
  const script = blocks.map((block) => `${block}printf -- '${mark.replace('\n', '\\n')}'\n`).join('');
  const out = execFileSync('bash', ['-euc', script], {
    cwd,
    env: {
      ...process.env,
      EXAMPLES: join(ROOT, 'examples/tutorial'),
      PATH: `${dirname(PADDLET)}:${process.env.PATH}`,
    },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return out.split(mark).slice(0, -1);
}

test('runs as written and prints its samples; both sync runs have one model; the scores show the rule', () => {
  const outputs = runEach(
    steps.map(({ commands }) => commands),
    openPlace().path('.'),
  );
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
