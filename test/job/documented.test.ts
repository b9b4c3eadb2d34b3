import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { jobJsonSchema } from '../../src/job/schema.ts';
import { ROOT } from '../source-files.ts';

interface Node {
  readonly description?: string;
  readonly const?: string;
  readonly default?: unknown;
  readonly properties?: Record<string, Node>;
  readonly oneOf?: readonly Node[];
}

const schema = jobJsonSchema() as Node;
const guide = readFileSync(join(ROOT, 'docs/job-file.md'), 'utf8');

/** Every leaf field with its schema, by dotted path; the variants of a section under their type. */
function leaves(node: Node, path: string): [string, Node][] {
  const children = Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    leaves(child, path === '' ? name : `${path}.${name}`),
  );
  const variants = (node.oneOf ?? []).flatMap((variant) => leaves(variant, path));
  return children.length + variants.length > 0 ? [...children, ...variants] : [[path, node]];
}

const fields = leaves(schema, '');

test('docs/job.schema.json is the schema of this version', () => {
  const committed = JSON.parse(readFileSync(join(ROOT, 'docs/job.schema.json'), 'utf8'));
  expect(committed, 'paddlet doctor --schema > docs/job.schema.json').toEqual(schema);
});

describe('docs/job-file.md', () => {
  test.each(fields)('has %s with its default', (path, { default: value, const: constant }) => {
    const rows = guide.split('\n').filter((line) => {
      const names = line.startsWith('| `') ? line.split('|')[1] : undefined;
      return names?.includes(`\`${path}\``) && (constant === undefined || line.includes(`\`${constant}\``));
    });
    expect(rows.length, `a row for ${path} ${constant ?? ''}`).toBeGreaterThan(0);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // Models may have different defaults, each with a row of its own.
    if (value !== undefined && !path.startsWith('optimizer.')) expect(rows.join('\n')).toContain(`| \`${text}\` |`);
  });

  test('names no field that does not exist', () => {
    const known = new Set(fields.map(([path]) => path));
    const named = [...guide.matchAll(/^\| `([a-zA-Z.]+)`/gm)].map(([, path]) => path as string);
    expect(named.filter((path) => !known.has(path))).toEqual([]);
    expect(named.length).toBeGreaterThan(20);
  });

  test('its defaults of the optimizers are those of the schema', () => {
    for (const variant of schema.properties?.optimizer?.oneOf ?? []) {
      const type = variant.properties?.type?.const;
      const values = Object.entries(variant.properties ?? {}).filter(([name]) => name !== 'type');
      const said = values.map(([name, field]) => `${name} ${field.default}`).join(', ');
      expect(guide).toContain(`| \`optimizer.type\` | \`${type}\` | ${said} |`);
    }
  });
});

test('every field says what it is for', () => {
  expect(fields.filter(([path, { description }]) => description === undefined && !path.endsWith('.type'))).toEqual([]);
});
