/** What a process says of itself is understood whole, or refused with the field that is at fault. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { parseRoleInfo } from '../../src/view/info.ts';
import * as infos from './role-infos.ts';

const ALL = [
  infos.waitingMaster,
  infos.waitingPserver,
  infos.waitingTrainer,
  infos.workingTrainer,
  infos.asyncPserver(0, 3),
  infos.syncPserver(1),
  infos.asyncMaster(),
  infos.syncMaster(),
];

function refusal(info: unknown): PaddletError {
  try {
    parseRoleInfo(info);
  } catch (error) {
    if (error instanceof PaddletError) return error;
    throw error;
  }
  throw new Error('it was understood');
}

describe('the answer to info', () => {
  it.each(ALL)('is understood: $role, $state', (info) => {
    expect(parseRoleInfo(info)).toEqual(info);
  });

  it.each(ALL)('with a field more it is not: $role, $state', (info) => {
    expect(refusal({ ...info, mood: 'good' })).toMatchObject({ code: 'BadMessage', message: 'field mood: unknown' });
  });

  it.each(ALL)('with any field less it is not, but for those that may be missing: $role, $state', (info) => {
    const mayBeMissing = ['loss', 'index', 'recordsPerSecond', 'phaseMs', 'pserverAnswers'];
    for (const field of Object.keys(info)) {
      if (mayBeMissing.includes(field)) continue;
      expect(refusal({ ...info, [field]: undefined }).message, field).toContain(`field ${field}: `);
    }
  });

  it.each([undefined, null, 'pserver', {}, { role: 'scheduler' }])('%o is no info', (info) => {
    expect(refusal(info).code).toBe('BadMessage');
  });

  it('a field deep inside is named by its path', () => {
    const [first, ...rest] = infos.ROUNDS.pservers;
    const broken = { ...infos.ROUNDS, pservers: [{ ...first, missing: ['x'] }, ...rest] };
    expect(refusal({ ...infos.syncMaster(), rounds: broken }).message).toContain('rounds.pservers.0.missing.0');
  });
});
