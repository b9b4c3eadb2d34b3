/** docs/tutorial.md: its commands run as they are written, and its model finds what the log was made with. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../source-files.ts';
import { openPlace } from './harness.ts';
import { PADDLET } from './processes.ts';

const text = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8');
/** Every block of commands but the first, which sets the paths of the reader's machine. */
const blocks = [...text.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, block]) => block!).slice(1);

const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
const needsNumpy = (line: string): boolean => line.startsWith('python3 ');

describe(`the tutorial${hasNumpy ? '' : ' (its last command is left out: no python3 with numpy)'}`, () => {
  test('runs as written; both sync runs have one model; the weights show the rule of the log', () => {
    const place = openPlace();
    const lines = blocks.flatMap((block) => block.split('\n')).filter((line) => hasNumpy || !needsNumpy(line));
    const out = execFileSync('bash', ['-euc', lines.join('\n')], {
      cwd: place.path('.'),
      env: {
        ...process.env,
        EXAMPLES: join(ROOT, 'examples/tutorial'),
        PATH: `${dirname(PADDLET)}:${process.env.PATH}`,
      },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(out).toMatch(/^records +200000 applied, 0 lost/m);
    const models = [...out.matchAll(/^model +([0-9a-f]{64})$/gm)].map(([, digest]) => digest);
    expect(models).toHaveLength(3);
    expect(models[2]).toBe(models[1]);
    if (!hasNumpy) return;
    const ads = [...out.matchAll(/^\d\.\d{3} ad=ad(\d+)$/gm)].map(([, ad]) => Number(ad));
    expect(ads).toHaveLength(5);
    for (const ad of ads) expect(ad % 7).toBe(6);
  });

  test('its job is the one in examples/tutorial', () => {
    const [, inText] = /<<'END'\n([\s\S]*?)END\n/.exec(text)!;
    const file = readFileSync(join(ROOT, 'examples/tutorial/clicks.yaml'), 'utf8');
    expect(file.replace(/^#.*\n/, '')).toBe(inText);
  });
});
