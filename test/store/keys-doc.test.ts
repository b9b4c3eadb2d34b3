/** docs/store-keys.md has every key that src/store/keys.ts makes, under its name there, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/store/keys.ts';
import { ROOT } from '../source-files.ts';

const docs = readFileSync(join(ROOT, 'docs/store-keys.md'), 'utf8');
const keys = keysOf('') as unknown as Readonly<Record<string, string | ((...parts: readonly string[]) => string)>>;

/** The rows of the table: a key, its names in keys.ts. */
const rows = [...docs.matchAll(/^\| \[`([^`]+)`\]\(#[^)]+\) \| ((?:`\w+`(?:, )?)+) \|/gm)].map((row) => ({
  key: row[1]!,
  names: [...row[2]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
}));
const wildcardsOf = (key: string): string[] => key.match(/<\w+>/g) ?? [];

describe('docs/store-keys.md', () => {
  it.each(Object.keys(keys).filter((name) => name !== 'chroot'))('names %s of keys.ts', (name) => {
    expect(docs).toContain(`\`${name}\``);
  });

  it.each(rows)('shows $key as keys.ts makes it', ({ key, names }) => {
    const [first, ...prefixes] = names.map((name) => {
      expect(keys, name).toHaveProperty(name);
      const made = keys[name]!;
      return typeof made === 'string' ? made : made(...wildcardsOf(key));
    });
    expect(first).toBe(key);
    for (const prefix of prefixes) expect(key.startsWith(prefix), `${key} begins with ${prefix}`).toBe(true);
  });

  it.each(rows)('has a section with an example of $key', ({ key }) => {
    const start = docs.indexOf(`\n## \`${key}\`\n`);
    expect(start).toBeGreaterThan(0);
    const end = docs.indexOf('\n## ', start + 1);
    expect(docs.slice(start, end < 0 ? docs.length : end)).toMatch(/```/);
  });

  it('has a row for every key that is not a prefix of others', () => {
    const whole = Object.entries(keys).filter(([name]) => name !== 'chroot' && !/Prefix$|Blocks$/.test(name));
    const named = new Set(rows.map(({ names }) => names[0]));
    expect(whole.map(([name]) => name).filter((name) => !named.has(name))).toEqual([]);
    expect(rows.length).toBe(whole.length);
  });
});
