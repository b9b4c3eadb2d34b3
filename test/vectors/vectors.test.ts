/** The test vectors of docs/client.md are what this code computes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FRAME_VERSION } from '../../src/protocol/frames/frame.ts';
import { ROOT } from '../source-files.ts';
import { textOf, VECTORS, vectors } from './make-vectors.ts';

const kept = (name: string): string => readFileSync(join(VECTORS, `${name}.json`), 'utf8');

describe('test vectors', () => {
  test.each(Object.entries(vectors))('%s.json is what this code computes', (name, make) => {
    expect(kept(name)).toBe(textOf(make()));
  });

  test('frames.json has every frame of this version in test/golden/frames, byte for byte', () => {
    const folder = join(ROOT, 'test/golden/frames');
    const files = readdirSync(folder).filter((name) => name.startsWith(`v${FRAME_VERSION}-`));
    const bytes = files.map((name) => [name, readFileSync(join(folder, name)).toString('hex')]);
    const frames: { name: string; frame: string }[] = JSON.parse(kept('frames'));
    expect(Object.fromEntries(frames.map(({ name, frame }) => [`${name}.bin`, frame]))).toEqual(
      Object.fromEntries(bytes),
    );
  });

  test('docs/client.md names each of them', () => {
    const text = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
    for (const name of Object.keys(vectors)) expect(text).toContain(`\`${name}.json\``);
  });
});
