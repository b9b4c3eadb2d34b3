/** README.md: the commands from a CSV file to scores run as they are written and print what it shows. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { asInSample } from '../samples.ts';
import { ROOT } from '../source-files.ts';
import { outputsIn, scriptOf, stepsOf } from './document-steps.ts';
import { openPlace, type Place } from './harness.ts';
import { PADDLET } from './processes.ts';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const [, section = ''] = /^## Train on your own data\n([\s\S]*?)^## /m.exec(README) ?? [];
const steps = stepsOf(section);
/** It serves the page until Ctrl-C. */
const [ui] = steps.splice(-1);

/** The log that the section describes, as the tutorial makes it. */
const DATA = `awk -v rows=20000 -v seed=1 -f "$LOG" >clicks.csv
awk -v rows=1000 -v seed=3 -f "$LOG" | cut -d, -f2- >new.csv
`;
/** In place of a browser: writes the link to a file. */
const BROWSER = `#!/bin/sh
echo "$1" >opened.txt
`;
/** How long the page and the browser may take on a busy machine. */
const PATIENCE = { timeout: 120_000 };

function runAll(place: Place): string {
  return execFileSync('bash', ['-euc', DATA + scriptOf(steps)], {
    cwd: place.folder,
    env: {
      ...place.env,
      LOG: join(ROOT, 'examples/tutorial/make-log.awk'),
      PATH: `${dirname(PADDLET)}:${process.env.PATH}`,
    },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

test('leads from a CSV file to scores, and to a page in the browser', async () => {
  expect(steps.map(({ commands }) => commands.split(' ', 2).join(' '))).toEqual([
    'paddlet init',
    'paddlet run',
    'paddlet predict',
  ]);
  const place = openPlace();
  const outputs = outputsIn(runAll(place));
  for (const [at, { sample }] of steps.entries()) expect(asInSample(outputs[at]!, sample!)).toBe(sample);

  const [program, ...args] = ui!.commands.trim().split(' ');
  expect(program).toBe('paddlet');
  const browser = place.path('browser');
  writeFileSync(browser, BROWSER, { mode: 0o755 });
  const serving = place.start('ui', args, { BROWSER: browser });
  const opened = place.path('opened.txt');
  const openedLink = (): string => (existsSync(opened) ? readFileSync(opened, 'utf8') : '');
  await expect.poll(openedLink, PATIENCE).toContain('\n');
  expect(openedLink()).toBe(serving.out);
  expect(asInSample(serving.out, ui!.sample!)).toBe(ui!.sample);
  serving.kill('SIGINT');
  expect((await serving.ended).code).toBe(130);
});
