/** The example of src/core/README.md is code that runs, and the lines with an arrow say what comes out. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CORE = join(import.meta.dirname, '../../src/core');

type Answer = readonly { readonly type: string }[] | number;

it('has the effects that it claims', async () => {
  const readme = readFileSync(join(CORE, 'README.md'), 'utf8');
  const code = /## An example[\s\S]*?```ts\n([\s\S]*?)```/.exec(readme)![1]!;
  const recorded = code
    .replaceAll("from './", `from '${CORE}/`)
    .replace(/^queue\./gm, 'answers[answers.length] = queue.')
    .replace('const queue', 'export const answers: unknown[] = [];\nconst queue');
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-readme-'));
  try {
    const path = join(folder, 'example.ts');
    writeFileSync(path, recorded);
    const { answers } = (await import(path)) as { answers: readonly Answer[] };
    const claims = [...code.matchAll(/^\/\/ →(.*)$/gm)].map(([, claim = '']) => claim.trim());
    expect(claims).toHaveLength(5);
    expect(answers.map(textOf)).toEqual(claims);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const textOf = (answer: Answer): string =>
  typeof answer === 'number' ? String(answer) : answer.map(({ type }) => type).join(', ');
