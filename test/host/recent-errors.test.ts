import { expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { createLog } from '../../src/host/log.ts';
import { keepErrors } from '../../src/host/recent-errors.ts';
import { parseRoleInfo } from '../../src/view/info.ts';
import { waitingPserver } from '../cluster/role-infos.ts';

/** A second passes before each entry. */
function keeping(level: 'info' | 'error' = 'info') {
  const lines: string[] = [];
  let now = 1_000;
  const write = (line: string): void => void lines.push(line);
  const log = createLog({ level, format: 'text', color: true, wallSeconds: () => now, write });
  return { lines, ...keepErrors(log, () => ++now) };
}

it('keeps the last warnings and errors with their facts, and no other entry', () => {
  const { log, recent, lines } = keeping();
  expect(recent()).toEqual([]);
  log.info('up');
  log.debug('asked');
  log.warn('checkpoint not written', { file: 'a b', error: new PaddletError('CheckpointNotWritten', 'no space') });
  log.error('broken\nline', { left: undefined });
  expect(recent()).toEqual([
    { time: 1_001, level: 'warn', text: 'checkpoint not written file="a b" error="no space"' },
    { time: 1_002, level: 'error', text: 'broken\\u000aline' },
  ]);
  expect(lines).toHaveLength(3);
  for (let at = 0; at < LIMITS.toldErrors; at++) log.error(`error ${at}`);
  expect(recent().map(({ text }) => text)).toEqual(Array.from({ length: LIMITS.toldErrors }, (_, at) => `error ${at}`));
});

it('has them whatever is logged, and as they were when it was asked', () => {
  const { log, recent, lines } = keeping('error');
  log.warn('a');
  const before = recent();
  log.warn('b');
  expect([before.length, recent().length, lines.length]).toEqual([1, 2, 0]);
});

it('bounds what is told: the largest that there can be is a valid answer', () => {
  const { log, recent } = keeping();
  const long = LIMITS.toldErrorCharacters;
  log.warn('x'.repeat(long));
  log.warn('x'.repeat(long + 1));
  // The cut is inside of a character.
  log.warn(`${'x'.repeat(long - 2)}😀😀`);
  for (let at = 0; at < 3; at++) log.error('\u0000'.repeat(long), { error: new TypeError('broken') });
  const errors = recent();
  expect(errors.map(({ text }) => text.length)).toEqual([long, long, long, long, long]);
  expect(errors[0]!.text).toBe(`${'x'.repeat(long - 1)}…`);
  expect(errors.every(({ text }) => text.isWellFormed())).toBe(true);
  expect(parseRoleInfo({ ...waitingPserver, errors })).toMatchObject({ errors });
  expect(() => parseRoleInfo({ ...waitingPserver, errors: [...errors, ...errors] })).toThrow('field errors');
});
