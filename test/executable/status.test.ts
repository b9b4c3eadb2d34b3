/** What a running cluster and a finished one tell of themselves: HTTP, status, evaluate, the page. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { PAGE_HTML, PAGE_SECURITY_POLICY } from '../../src/page/generated/page.ts';
import { openViewer, proveTo } from '../protocol/viewing.ts';
import { openPlace, resultOf } from './harness.ts';
import { JOB, plantedJob, TASKS_PER_PASS, UNHURRIED_JOB } from './planted-job.ts';
import { eventually, expectMidRun, JOB_FOLDER, type LiveProcess, liveProcesses, ROLES, startRun } from './run.ts';

const USAGE = 2;
const JOB_FAILED = 6;
/** The looks in mid-run come after the first of them. */
const PASSES = 6;
const TASKS = PASSES * TASKS_PER_PASS;
const SHARDS_EACH = JOB.cluster.shards / 2;

const positive = z.int().min(1);
const live = {
  address: z.string(),
  lease: z.string().regex(/^[1-9a-f][0-9a-f]*$/),
  pid: positive,
  host: z.string(),
  answers: z.literal(true),
};
const pserver = (index: number) =>
  z.object({
    role: z.literal('pserver'),
    index: z.literal(index),
    shards: z.literal(SHARDS_EACH),
    rows: positive,
    bytes: positive,
    updates: positive,
    ...live,
  });
const trainer = z.object({ role: z.literal('trainer'), id: z.uuid(), ...live });
const checkpoint = (index: number) =>
  z.strictObject({
    index: z.literal(index),
    uuid: z.uuid(),
    md5: z.string().length(32),
    bytes: positive,
    timestamp: z.number().positive(),
  });

const written = {
  cluster_status: z.enum(['OK', 'UNHEALTHY', 'UNKNOWN']),
  reason: z.string(),
  nodes: z.array(z.int()),
};

/** What `status --json` says in mid-run, after a save. */
const runningSchema = z.object({
  job: z.literal(JOB.name),
  mode: z.literal('async'),
  passes: z.literal(PASSES),
  phase: z.literal('training'),
  elapsedSeconds: z.number().positive(),
  checkpoints: z.tuple([checkpoint(0), checkpoint(1)]),
  tasks: z.object({ total: z.literal(TASKS), done: positive.max(TASKS - 1), discarded: z.literal(0) }),
  records: z.object({ read: positive, applied: positive, bad: z.literal(0), duplicate: z.int(), lost: z.literal(0) }),
  cluster: z.strictObject({
    cluster_status: z.literal('OK'),
    reason: z.literal(''),
    nodes: z.tuple([z.literal(0), z.literal(1)]),
    waitingFor: z.tuple([]),
    written: z.strictObject({ ...written, believed: z.literal(true) }),
  }),
  resume: z.strictObject({ command: z.string().regex(/ run /), folder: z.string(), host: z.string() }),
  recordsPerSecond: positive,
  processes: z.tuple([z.object({ role: z.literal('master'), ...live }), pserver(0), pserver(1), trainer, trainer]),
});

/** Of the object that `run --json` and `status --json` end with. */
const FIELDS = [
  ...['job', 'mode', 'passes', 'tasks', 'records', 'metrics', 'modelDigest', 'recordsPerSecond', 'elapsedSeconds'],
  ...['checkpoints', 'cluster', 'processes'],
];

const evaluationSchema = z.object({
  model: z.enum(['pservers', 'checkpoints']),
  records: z.literal(5_000),
  auc: z.number().min(0.5).max(1),
  logloss: z.number(),
  accuracy: z.number(),
});

const topSchema = z.object({
  job: z.literal(JOB.name),
  processes: z.array(z.object({ role: z.string(), id: z.string() })),
});

const pageSchema = z.object({ job: z.literal(JOB.name), link: z.url() });

/** Series that tell how far each role is. */
const SERIES = {
  master: [
    new RegExp(`^paddlet_master_tasks\\{queue="done",job="${JOB.name}",role="master"\\} \\d+$`, 'm'),
    /^paddlet_master_pass\{.*role="master"\} [1-9]\d*$/m,
  ],
  pserver: [
    /^paddlet_pserver_pushes_total\{outcome="applied",.*role="pserver",index="\d"\} [1-9]\d*$/m,
    new RegExp(`^paddlet_pserver_shards\\{.*index="\\d"\\} ${SHARDS_EACH}$`, 'm'),
    /^paddlet_request_seconds_count\{.*type="push".*\} [1-9]\d*$/m,
    /^paddlet_pserver_checkpoints_total\{outcome="saved",.*\} [1-9]\d*$/m,
  ],
  trainer: [/^paddlet_trainer_records_total\{.*role="trainer"\} [1-9]\d*$/m],
};

/** Of what `status` says in mid-run. */
const LINES = [
  /^master .* training$/m,
  /^pserver +1 .* units, [1-9]\d* updates, \d+\.\d MB$/m,
  /^trainer .* \w+, [1-9]\d* records(, loss \d\.\d{4})?$/m,
];

const PATIENTLY = ['--timeout', '10m'];
/** A minute, of which a look in mid-run takes a small part: it is stopped then, and goes on at full speed. */
const VERY_SLOWLY = 'trainer.dealt:delay=300';

async function get(address: string, path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`http://${address}${path}`);
  return { status: answer.status, text: await answer.text() };
}

async function expectHealth({ role, address }: LiveProcess): Promise<void> {
  const healthy = await get(address, '/healthz');
  expect({ ...healthy, text: JSON.parse(healthy.text) }).toMatchObject({ status: 200, text: { status: 'ok' } });
  const ready = await get(address, '/readyz');
  expect({ ...ready, text: JSON.parse(ready.text) }).toMatchObject({ status: 200, text: { status: 'ready' } });
  const { status, text } = await get(address, '/metrics');
  expect(status).toBe(200);
  for (const series of [...SERIES[role], /^process_resident_memory_bytes\{/m, /^paddlet_build_info\{/m])
    expect(text).toMatch(series);
}

/** The page of the master, and what a browser that has its link is told. */
async function expectPage(link: string): Promise<void> {
  const { host, hash } = new URL(link);
  const page = await fetch(`http://${host}/`);
  expect(await page.text()).toBe(PAGE_HTML);
  expect(page.headers.get('content-security-policy')).toBe(PAGE_SECURITY_POLICY);
  const viewer = await openViewer(host);
  await proveTo(viewer, Buffer.from(hash.slice('#view='.length), 'hex'), host);
  const told = await viewer.next();
  expect(told).toMatchObject({
    type: 'data',
    data: { servedBy: 'master', job: { name: JOB.name, phase: 'training' } },
  });
  viewer.ws.close();
}

test('in mid-run and at the end: health, metrics, status and evaluate', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(
    place,
    await plantedJob(place, { ...UNHURRIED_JOB, training: { ...JOB.training, passes: PASSES } }),
    VERY_SLOWLY,
  );
  const where = ['--dir', JOB_FOLDER];
  expect(await place.json('status', ...where, '--until', 'running', ...PATIENTLY)).toMatchObject({ job: JOB.name });
  await store.passesOver(1, running);
  await place.json('checkpoint', 'save', ...where);
  const processes = await liveProcesses(place, ROLES);
  const [evaluated] = await Promise.all([
    place.json('evaluate', ...where),
    // A trainer may have come late, and each role may be too busy to answer the first time.
    eventually(async () => runningSchema.parse(await place.json('status', ...where))),
    ...processes.map((process) => eventually(() => expectHealth(process))),
  ]);
  await eventually(async () => {
    const { out } = await place.paddlet('status', ...where);
    for (const line of LINES) expect(out).toMatch(line);
  });
  expect(evaluationSchema.parse(evaluated).model).toBe('pservers');
  const top = topSchema.parse(await place.json('top', ...where, '--count', '1'));
  expect(top.processes.map(({ role }) => role)).toEqual(['master', 'pserver', 'pserver', 'trainer', 'trainer']);
  const logged = await place.paddlet('logs', 'pserver', '1', ...where, '--lines', 'all');
  expect(logged.out).toMatch(/^\S+Z info {2}pserver 1 /m);
  await expectPage(pageSchema.parse(await place.json('token', 'view', ...where)).link);
  await expectMidRun(store, TASKS);

  const tooShort = await place.paddlet('status', ...where, '--until', 'done', '--timeout', '50ms');
  expect(tooShort.code).toBe(JOB_FAILED);
  expect(tooShort.err).toMatch(/^error RequestTimeout: the job was not done within 0\.05 s/m);
  await expectMidRun(store, TASKS);

  const deleted = await place.paddlet('jobs', 'delete', JOB_FOLDER, '--yes');
  expect([deleted.code, deleted.out]).toEqual([USAGE, '']);
  expect(deleted.err).toMatch(/^error JobConflict: a `paddlet run` works in \S+; nothing was deleted/m);
  await expectMidRun(store, TASKS);

  await place.json('stop', ...where);
  await running.ended;
  const again = place.start('run again', args);
  const done = await place.json('status', ...where, '--until', 'done', ...PATIENTLY);
  const result = await resultOf(again);
  expect(done).toMatchObject({ ...result, phase: 'done' });
  // Processes may have been ending at the first look.
  expect(await place.json('status', ...where, '--watch')).toMatchObject({ ...result, phase: 'done' });
  expect(Object.keys(done as object)).toEqual(expect.arrayContaining(FIELDS));
  const after = evaluationSchema.parse(await place.json('evaluate', ...where));
  expect(after.model).toBe('checkpoints');
  expect(evaluationSchema.parse(await place.json('evaluate', JOB_FOLDER))).toEqual(after);
  const { auc, accuracy } = result.metrics.test!;
  expect({ auc: after.auc, accuracy: after.accuracy }).toEqual({ auc, accuracy });
});

test('status of nothing: a job that does not exist, a wait that ends in time', async () => {
  const place = openPlace();
  const nowhere = await place.paddlet('status');
  expect(nowhere.code).toBe(2);
  expect(nowhere.err).toMatch(/^error JobUnknown: /m);
  const waited = await place.paddlet(
    'status',
    '--store',
    'sqlite:empty.db',
    '--until',
    'running',
    '--timeout',
    '100ms',
  );
  expect(waited.code).toBe(JOB_FAILED);
  expect(waited.err).toMatch(/^error RequestTimeout: the job was not running within 0\.1 s/m);
});
