/** examples/monitoring uses series, labels and values as the code has them, and names documents that are there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { createMetricsRegistry } from '../src/host/metrics.ts';
import { ROOT } from './source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Of every series of a job; `index` of pservers. `instance` is Prometheus's own, `le` that of a histogram. */
const COMMON = ['job', 'role', 'index', 'instance', 'le'];

/** Label to its values; undefined: any. */
type Labels = ReadonlyMap<string, readonly string[] | undefined>;

/** The table of docs/operations.md, which another test compares with the code; and the series of the process. */
function seriesThatAre(): Map<string, Labels> {
  const own = read('docs/operations.md').matchAll(/^\| `(paddlet_\w+)` \| (\w+) \|([^|]*)\|/gm);
  const found = new Map<string, Labels>();
  for (const [, name, type, labels] of own) {
    const [label, values] = labels!.split(':').map((part) => part.trim());
    const named = label === undefined || label === '' ? [] : label.split(', ');
    const described = new Map(named.map((each) => [each, values?.split(', ')] as const));
    const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const ending of endings) found.set(`${name}${ending}`, described);
  }
  const ofProcess = createMetricsRegistry({ job: 'any', role: 'master' }, '1').getMetricsAsArray();
  for (const { name } of ofProcess) if (!name.startsWith('paddlet_')) found.set(name, new Map());
  // Prometheus's own.
  found.set('up', new Map());
  found.set('ALERTS', new Map(['alertname', 'alertstate', 'severity'].map((label) => [label, undefined] as const)));
  return found;
}

const SERIES = seriesThatAre();

/** What is wrong with the names in an expression of PromQL. */
function faultsIn(expression: string): string[] {
  const used = [...expression.matchAll(/\b((?:paddlet|process|nodejs)_\w+|up|ALERTS)\b(?:\{([^}]*)\})?/g)];
  if (used.length === 0) return [`no series in ${expression}`];
  const faults: string[] = [];
  const known = new Set(COMMON);
  for (const [, name, matchers = ''] of used) {
    const labels = SERIES.get(name!);
    if (labels === undefined) faults.push(`no series ${name}`);
    for (const label of labels?.keys() ?? []) known.add(label);
    for (const [, label, value] of matchers.matchAll(/(\w+)\s*(?:=~|!=|!~|=)\s*"([^"]*)"/g)) {
      const isKnown = COMMON.includes(label!) || labels?.has(label!);
      if (!isKnown) faults.push(`${name} has no label ${label}`);
      const values = label === 'role' ? ['master', 'pserver', 'trainer'] : labels?.get(label!);
      const missing = value!.split('|').filter((each) => values !== undefined && !values.includes(each));
      if (missing.length > 0) faults.push(`${name} has no ${label} ${missing.join(', ')}`);
    }
  }
  const grouped = [...expression.matchAll(/\b(?:by|on|ignoring|without)\s*\(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map((label) => label.trim()),
  );
  return [...faults, ...grouped.filter((label) => !known.has(label)).map((label) => `no label ${label}`)];
}

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Paddlet[A-Z]\w+$/),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string(), docs: z.string() }),
        }),
      ),
    }),
  ),
});
const ALERTS = rulesSchema.parse(parse(read('examples/monitoring/alerts.yml'))).groups.flatMap(({ rules }) => rules);

const panelSchema = z.object({
  id: z.number(),
  title: z.string(),
  type: z.enum(['row', 'stat', 'timeseries']),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).optional(),
});
const dashboardSchema = z.object({
  schemaVersion: z.number().min(37).max(39),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(panelSchema),
});
const DASHBOARD = dashboardSchema.parse(JSON.parse(read('examples/monitoring/dashboard.json')));
const TARGETS = DASHBOARD.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);

it('knows a wrong name from a right one', () => {
  expect(faultsIn('sum by (queue) (paddlet_master_tasks{job="a",queue=~"todo|done"})')).toEqual([]);
  expect(faultsIn('rate(paddlet_request_seconds_bucket[5m])')).toEqual([]);
  expect(faultsIn('paddlet_request_seconds')).toEqual(['no series paddlet_request_seconds']);
  expect(faultsIn('paddlet_master_tasks{kind="todo"}')).toEqual(['paddlet_master_tasks has no label kind']);
  expect(faultsIn('paddlet_master_tasks{queue="gone"}')).toEqual(['paddlet_master_tasks has no queue gone']);
  expect(faultsIn('max by (kind) (paddlet_master_tasks)')).toEqual(['no label kind']);
});

it.each(ALERTS)('$alert uses series and labels that are there', ({ expr, annotations }) => {
  expect(faultsIn(expr)).toEqual([]);
  const shown = [
    ...Object.values(annotations)
      .join(' ')
      .matchAll(/\$labels\.(\w+)/g),
  ].map(([, label]) => label!);
  // What a sum has lost cannot be shown.
  const kept = /\bsum by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ');
  const labels = kept ?? [...COMMON, ...[...expr.matchAll(/paddlet_\w+/g)].flatMap(([name]) => labelsOf(name))];
  for (const label of shown) expect(labels).toContain(label);
});

const labelsOf = (name: string): string[] => [...(SERIES.get(name)?.keys() ?? [])];

it.each(ALERTS)('$alert names a place in the documents', ({ annotations: { docs } }) => {
  const [path, anchor] = docs.split('#');
  expect(existsSync(join(ROOT, path!)), path).toBe(true);
  const anchors = [...read(path!).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  expect(anchors).toContain(anchor);
});

it('every alert has a test of its own, and a row in the document', () => {
  const tests = read('examples/monitoring/alerts.test.yml');
  const rows = [...read('examples/monitoring/README.md').matchAll(/^\| `(Paddlet\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(ALERTS.map(({ alert }) => alert));
  for (const { alert } of ALERTS) expect(tests).toContain(`alertname="${alert}",alertstate="firing"`);
});

it.each(TARGETS)(
  'the panel "$title" uses series and labels that are there: $legendFormat',
  ({ expr, legendFormat }) => {
    expect(faultsIn(expr)).toEqual([]);
    expect(expr).toContain('job="$job"');
    const labels = new Set([
      ...COMMON,
      'alertname',
      ...[...expr.matchAll(/paddlet_\w+/g)].flatMap(([n]) => labelsOf(n)),
    ]);
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(labels).toContain(label);
  },
);

it('panels of the dashboard have numbers of their own, and none covers another', () => {
  const { panels, templating } = DASHBOARD;
  expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job']);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
});
