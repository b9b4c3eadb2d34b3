/** Why a process of a run ended, for the error of the run. */
import { expect, it } from 'vitest';
import { ChildReports } from '../../../src/commands/run/child-reports.ts';
import { FakeClock } from '../../store/support.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

it('says what the operating system refused, and what to do, when a process could not be started', () => {
  const reports = new ChildReports(new FakeClock(), SILENT);
  const refused = Object.assign(new Error('spawn paddlet EMFILE'), { code: 'EMFILE', syscall: 'spawn paddlet' });
  reports.notStarted('trainer 0', refused);
  expect(reports.failureOf('trainer 0', 9, 'logs/trainer-0.log')).toMatchObject({
    code: 'SystemRefused',
    exitCode: 9,
    message: expect.stringMatching(/^trainer 0: cannot be started: .*spawn paddlet EMFILE/),
    hint: expect.stringContaining('ulimit -n'),
  });
});

it('names the log of a process that said nothing', () => {
  const failure = new ChildReports(new FakeClock(), SILENT).failureOf('master', 1, 'logs/master.log');
  expect(failure).toMatchObject({ code: 'Internal', message: 'master: ended with exit code 1' });
  expect(failure.hint).toContain('logs/master.log');
});
