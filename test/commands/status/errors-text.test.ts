import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import type { LoggedError } from '../../../src/base/seams.ts';
import { errorsText } from '../../../src/commands/status/errors-text.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import { asyncMaster, asyncPserver, workingTrainer } from '../../cluster/role-infos.ts';

const NOW = 1_700_000_000;

const error = (ageSeconds: number, text: string, level: LoggedError['level'] = 'error'): LoggedError => {
  return { time: NOW - ageSeconds, level, text };
};

function says(
  info: (LiveProcess['answer'] & { kind: 'info' })['info'],
  id: string,
  ...errors: LoggedError[]
): LiveProcess {
  return { role: info.role, id, address: 'a:1', lease: 'a', answer: { kind: 'info', info: { ...info, errors } } };
}

const ID = '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';

it('has the newest of each process, of the last ten minutes', () => {
  const silent: LiveProcess = { ...says(workingTrainer, ID), answer: { kind: 'none' } };
  const processes = [
    says(asyncMaster(), 'master', error(500, 'old'), error(12.4, 'task 3 is discarded')),
    says(asyncPserver(0, 0), '0', error(601, 'it has passed')),
    says(asyncPserver(1, 0), '1', error(600, 'no space left', 'warn')),
    says(asyncPserver(2, 0), '2'),
    // Its clock is fast.
    says(workingTrainer, ID, error(-30, 'pserver 1\u001b[2J is away')),
    silent,
  ];
  expect(errorsText(processes, NOW, Number.POSITIVE_INFINITY)).toEqual([
    '',
    'latest warnings and errors:',
    '  master, 12 s ago: error: task 3 is discarded',
    '  pserver 1, 10 min ago: warn: no space left',
    '  trainer 5a8f6e0e, 0 s ago: error: pserver 1\\u001b[2J is away',
  ]);
});

it('fits a terminal, and says nothing when there is nothing', () => {
  const processes = [says(workingTrainer, ID, error(1, 'no answer from a pserver, which is asked again '.repeat(6)))];
  const lines = errorsText(processes, NOW, 80);
  expect(lines.map((line) => stringWidth(line))).toEqual([0, 27, 80]);
  expect(errorsText([says(workingTrainer, ID)], NOW, 80)).toEqual([]);
});
