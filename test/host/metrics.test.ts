import { expect, test } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import {
  createHealth,
  createMetricsRegistry,
  type Readiness,
  registerServed,
  registerTraffic,
  registerTroubles,
} from '../../src/host/metrics.ts';

const registry = createMetricsRegistry({ job: 'small', role: 'pserver', index: '3' }, '1.2.3');

test('alive is not ready', async () => {
  let now: Readiness = { ready: false, reason: 'waits for pserver 1' };
  const answer = createHealth({ role: 'pserver', isReady: () => now, registry, exposeMetrics: true });
  expect((await answer('/healthz'))?.status).toBe(200);
  const waiting = await answer('/readyz?verbose');
  expect(waiting?.status).toBe(503);
  expect(JSON.parse(waiting?.body ?? '')).toEqual({
    status: 'waiting',
    role: 'pserver',
    reason: 'waits for pserver 1',
  });
  now = { ready: true };
  expect((await answer('/readyz'))?.status).toBe(200);
});

test('metrics in the text format of Prometheus, labelled', async () => {
  const answer = await createHealth({
    role: 'pserver',
    isReady: () => ({ ready: true }),
    registry,
    exposeMetrics: true,
  })('/metrics');
  expect(answer?.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(answer?.body).toMatch(/^process_resident_memory_bytes\{job="small",role="pserver",index="3"\} \d+$/m);
});

test('anything else does not exist', async () => {
  expect(
    await createHealth({ role: 'master', isReady: () => ({ ready: true }), registry, exposeMetrics: true })(
      '/etc/passwd',
    ),
  ).toBeUndefined();
});

test('metrics are not for strangers unless a flag says so', async () => {
  const isReady = () => ({ ready: true });
  const answer = await createHealth({ role: 'master', isReady, registry, exposeMetrics: false })('/metrics?x=1');
  expect(answer?.status).toBe(403);
  expect(answer?.body).toContain('--expose-metrics');
  expect(answer?.body).not.toContain('process_');
});

test('the bytes on the wire are those of now, by direction', async () => {
  const own = createMetricsRegistry({ job: 'small', role: 'trainer' }, '1.2.3');
  const traffic = { sentBytes: 3, receivedBytes: 0 };
  registerTraffic(own, traffic);
  await own.metrics();
  traffic.sentBytes = 5;
  traffic.receivedBytes = 7;
  const text = await own.metrics();
  expect(text).toContain('paddlet_wire_bytes_total{direction="sent",job="small",role="trainer"} 5\n');
  expect(text).toContain('paddlet_wire_bytes_total{direction="received",job="small",role="trainer"} 7\n');
});

test('the versions of a process, what it waits for, and how long its answers take', async () => {
  const own = createMetricsRegistry({ job: 'small', role: 'trainer' }, '1.2.3');
  registerTroubles(own, ['store', 'pserver'], () => ['store']);
  const served = registerServed(own);
  served('push', 3);
  served('push', 40);
  const text = await own.metrics();
  const labels = 'job="small",role="trainer"';
  expect(text).toContain(`paddlet_build_info{version="1.2.3",node="${process.versions.node}",${labels}} 1\n`);
  expect(text).toContain(`paddlet_trouble{kind="store",${labels}} 1\n`);
  expect(text).toContain(`paddlet_trouble{kind="pserver",${labels}} 0\n`);
  expect(text).toMatch(/^paddlet_request_seconds_bucket\{le="0\.01",.*\} 1$/m);
  expect(text).toMatch(/^paddlet_request_seconds_count\{.*type="push".*\} 2$/m);
});

test('the targets of a job are for Prometheus as metrics are, and need the store', async () => {
  const options = { role: 'master', isReady: () => ({ ready: true }), registry, exposeMetrics: true };
  const found = [{ targets: ['here:1'], labels: { role: 'master' } }];
  const answer = await createHealth({ ...options, targets: async () => found })('/targets');
  expect(answer).toMatchObject({ status: 200, contentType: expect.stringContaining('application/json') });
  expect(JSON.parse(answer!.body)).toEqual(found);
  const closed = await createHealth({ ...options, exposeMetrics: false, targets: async () => found })('/targets');
  expect(closed?.status).toBe(403);
  expect(closed?.body).not.toContain('here:1');
  const failing = () => Promise.reject(new PaddletError('StoreUnavailable', 'no store'));
  expect((await createHealth({ ...options, targets: failing })('/targets'))?.status).toBe(503);
  expect(await createHealth(options)('/targets')).toBeUndefined();
});

test('requests of training by type, and all others as one', async () => {
  const own = createMetricsRegistry({ job: 'small', role: 'pserver' }, '1.2.3');
  const served = registerServed(own);
  for (const type of ['push', 'info', 'offerMove', 'push']) served(type, 3);
  const counts = [...(await own.metrics()).matchAll(/^paddlet_request_seconds_count\{.*type="(\w+)".*\} (\d)$/gm)];
  expect(counts.map(([, type, count]) => [type, count])).toEqual([
    ['push', '2'],
    ['other', '2'],
  ]);
});

test('parts of the heap of Node have no series', async () => {
  const text = await registry.metrics();
  expect(text).toContain('nodejs_heap_size_used_bytes');
  expect(text).not.toContain('nodejs_heap_space');
});
