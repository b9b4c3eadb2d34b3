/**
 * The test vectors of docs/client.md are what this code computes, and the pushes of a task are what its trainer sends.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../source-files.ts';
import { textOf, VECTORS, vectors } from './make-vectors.ts';

const kept = (name: string): string => readFileSync(join(VECTORS, `${name}.json`), 'utf8');

describe('test vectors', () => {
  test.each(Object.entries(vectors))('%s.json is what this code computes', (name, make) => {
    expect(kept(name)).toBe(textOf(make()));
  });

  test('docs/client.md names each of them', () => {
    const text = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
    for (const name of Object.keys(vectors)) expect(text).toContain(`\`${name}.json\``);
  });
});
