import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { armFailPoints, FAIL_POINTS, type FailHands, failPoint } from '../../src/base/fail-points.ts';
import { ROOT, sourceFiles } from '../source-files.ts';

function recorder(): { readonly done: string[]; readonly hands: FailHands } {
  const done: string[] = [];
  const hands = {
    kill: () => void done.push('kill'),
    stop: (ms: number) => void done.push(`stop ${ms}`),
    say: () => {},
  };
  return { done, hands };
}

afterEach(() => armFailPoints(undefined, recorder().hands));

describe('fail points', () => {
  test('unset, nothing happens', () => {
    const { done, hands } = recorder();
    armFailPoints('push.applied:kill', hands);
    armFailPoints('', hands);
    failPoint('push.applied');
    expect(done).toEqual([]);
  });

  test('strike at their own point only, each time', () => {
    const { done, hands } = recorder();
    armFailPoints('push.applied:kill, push.advanced:delay=30', hands);
    failPoint('push.received');
    failPoint('push.applied');
    failPoint('push.advanced');
    failPoint('push.applied');
    expect(done).toEqual(['kill', 'stop 30', 'kill']);
  });

  test('strike at one hit, or from one on', () => {
    const { done, hands } = recorder();
    armFailPoints('push.applied:kill@2,push.advanced:delay=1@2+', hands);
    for (let i = 0; i < 3; i++) failPoint('push.applied');
    expect(done).toEqual(['kill']);
    for (let i = 0; i < 3; i++) failPoint('push.advanced');
    expect(done).toEqual(['kill', 'stop 1', 'stop 1']);
  });

  test('several actions at one point come in their order', () => {
    const { done, hands } = recorder();
    armFailPoints('push.applied:delay=5@1,push.applied:kill', hands);
    failPoint('push.applied');
    expect(done).toEqual(['stop 5', 'kill']);
  });

  test('an error is that of a disk, or has the code asked for', () => {
    armFailPoints('checkpoint.written:error,push.received:error=Overloaded', recorder().hands);
    expect(() => failPoint('checkpoint.written')).toThrow(expect.objectContaining({ code: 'EIO' }));
    expect(() => failPoint('push.received')).toThrow(PaddletError);
    expect(() => failPoint('push.received')).toThrow(expect.objectContaining({ code: 'Overloaded' }));
  });

  test.each([
    'push.applied',
    'push.nowhere:kill',
    'push.applied:explode',
    'push.applied:kill=3',
    'push.applied:delay',
    'push.applied:delay=-1',
    'push.applied:delay=9999999999',
    'push.applied:error=NoSuchCode',
    'push.applied:kill@0',
    'push.applied:kill,',
  ])('%s is refused', (text) => {
    expect(() => armFailPoints(text, recorder().hands)).toThrow(expect.objectContaining({ code: 'Usage' }));
  });

  test('each is in the code exactly once and in the document', () => {
    const code = sourceFiles('src').map(({ text }) => text);
    const document = readFileSync(join(ROOT, 'docs/fail-points.md'), 'utf8');
    for (const [point, moment] of Object.entries(FAIL_POINTS)) {
      expect(
        code.reduce((count, text) => count + text.split(`failPoint('${point}')`).length - 1, 0),
        point,
      ).toBe(1);
      expect(document).toContain(`| \`${point}\` | ${moment} |`);
    }
    expect(document.match(/^\| `/gm)).toHaveLength(Object.keys(FAIL_POINTS).length);
  });
});
