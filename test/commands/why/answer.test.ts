/** What `paddlet why` prints. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { storeAway, whyText } from '../../../src/commands/why/answer.ts';

const first = { kind: 'hook' as const, sentence: 'The master runs a hook.', hint: 'wait' };
const job = { job: 'small', phase: 'training' };

it('has the cause, what to do, and then what follows from it', () => {
  const rate = { recordsPerSecond: 320, quietSeconds: 4.2 };
  const causes = [first, { kind: 'barrier' as const, sentence: 'Round 3 waits.' }];
  expect(whyText({ ...job, ...rate, causes })).toBe(
    [
      'job small: training, 320 records/s on average; the last records 4.2 s ago',
      ...['', 'The master runs a hook.', '  wait', '', 'and then:', '- Round 3 waits.'],
    ].join('\n'),
  );
  expect(whyText({ ...job, causes: [] })).toBe('job small: training\nNothing is blocking it.');
  const notes = [{ table: 'v', sentence: 'Table v is at its bound.', hint: 'raise it' }];
  expect(whyText({ ...job, causes: [], notes })).toBe(
    ['job small: training', 'Nothing is blocking it.', '', 'note: Table v is at its bound.', '  raise it'].join('\n'),
  );
});

it('of a store that does not answer, says so once', () => {
  const url = 'etcd://here:1';
  const away = (message: string): string => whyText(storeAway(url, new PaddletError('StoreUnavailable', message)));
  const hint = '\n  start the store, or check its address and the network';
  expect(away(`store ${url} did not answer within 2 s`)).toBe(`The store ${url} did not answer within 2 s.${hint}`);
  expect(away('the disk is full')).toBe(`The store ${url} does not answer: the disk is full.${hint}`);
});
