/** What the benchmark of training reads of the processes, and which part of a run a figure is of. */
import { expect, it } from 'vitest';
import { type Look, type RoleLook, read } from '../../../scripts/bench/training/looks.ts';
import { jobOf, TABLE } from '../../../scripts/bench/training/rows.ts';
import { spanOf } from '../../../scripts/bench/training/spans.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';

const TRAINER = `
paddlet_trainer_records_total{role="trainer"} 100
paddlet_trainer_phase_seconds_total{phase="read",role="trainer"} 1.5
paddlet_trainer_phase_seconds_total{phase="route",role="trainer"} 0.25
paddlet_trainer_changeover_seconds_total{role="trainer"} 0.75
paddlet_wire_bytes_total{direction="sent",role="trainer"} 700
paddlet_wire_bytes_total{direction="received",role="trainer"} 900
`;
const PSERVER = `
paddlet_pserver_rows{role="pserver 0"} 12
paddlet_pserver_phase_seconds_total{phase="push",role="pserver 0"} 4
paddlet_wire_bytes_total{direction="sent",role="pserver 0"} 5
`;

it('sums are of all trainers, with phases of any name, and the bytes are those of trainers only', () => {
  const { phases, pserverPhases, ...sums } = read([TRAINER, PSERVER, TRAINER]);
  expect(sums).toEqual({ records: 200, sentBytes: 1400, receivedBytes: 1800, rows: 12, changeoverSeconds: 1.5 });
  expect(Object.fromEntries(phases)).toEqual({ read: 3, route: 0.5 });
  expect(Object.fromEntries(pserverPhases)).toEqual({ push: 4 });
});

it('executables from before bytes were counted count none', () => {
  expect(read(['paddlet_trainer_records_total{role="trainer"} 1\n'])).toMatchObject({ records: 1, sentBytes: 0 });
});

const role = (cpuSeconds: number): RoleLook => ({ processes: 2, cpuSeconds, lackedSeconds: 0, residentMiB: 1 });

/** Half of the trainers' time is in `pull`; each record costs 10 bytes. */
const lookAt = (seconds: number, records: number): Look => ({
  atMs: 1000 * seconds,
  records,
  phases: new Map([
    ['pull', seconds],
    ['compute', seconds],
  ]),
  pserverPhases: new Map([
    ['push', seconds],
    ['idle', 3 * seconds],
  ]),
  changeoverSeconds: seconds / 2,
  sentBytes: 10 * records,
  receivedBytes: 20 * records,
  rows: 0,
  roles: { trainer: role(seconds), pserver: role(2 * seconds), master: role(0) },
});

/** Two passes of 100 records: the first at 10 a second, the second at 50. Then nothing comes any more. */
const LOOKS = [
  lookAt(0, 0),
  ...[1, 2, 5, 9, 10].map((seconds) => lookAt(seconds, 10 * seconds)),
  ...[10.5, 11, 11.5, 12, 20].map((seconds) => lookAt(seconds, Math.min(200, 100 + 50 * (seconds - 10)))),
];

it('passes are told apart, without the time before the first record and after the last', () => {
  expect(spanOf(LOOKS, 'first', 100, 2)?.recordsPerSecond).toBeCloseTo(10);
  expect(spanOf(LOOKS, 'later', 100, 2)?.recordsPerSecond).toBeCloseTo(50);
  expect(spanOf(LOOKS, 'all', 100, 2)?.recordsPerSecond).toBeCloseTo((175 - 10) / (11.5 - 1));
});

it('shares are of the span, by process', () => {
  const span = spanOf(LOOKS, 'later', 100, 2)!;
  expect(span.phases.get('pull')).toBeCloseTo(0.5);
  expect(span.pserverPhases.get('push')).toBeCloseTo(0.25);
  expect(span.changeover).toBeCloseTo(0.25);
  expect(span.busy.trainer).toBeCloseTo(0.5);
  expect(span.busy.pserver).toBeCloseTo(1);
  expect(span.cpuPerRecord.pserver).toBeCloseTo((1e6 * 2) / 50);
  expect(span.sentPerRecord).toBeCloseTo(10);
  expect(span.receivedPerRecord).toBeCloseTo(20);
});

it('a span of two looks has no speed', () => {
  expect(spanOf(LOOKS.slice(0, 3), 'all', 100, 2)).toBeUndefined();
});

it.each(TABLE)('the job of row $number, $scene.name, $mode, is valid', ({ scene, mode }) => {
  const fields = { format: 'libsvm', train: 'train.libsvm' };
  const images = { format: 'idx', train: 'images', trainLabels: 'labels' };
  const job = jobOf(scene, mode, 3, scene.data === 'mnist' ? images : fields);
  expect(parseJobFile('job.json', JSON.stringify(job)).training).toMatchObject({
    passes: 3,
    batchSize: scene.batchSize,
  });
});
