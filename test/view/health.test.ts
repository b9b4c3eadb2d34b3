/** What a job waits for, from its keys and the answers of its processes. */
import { describe, expect, it } from 'vitest';
import { healthOf, type SeenProcess, waitingText } from '../../src/view/health.ts';
import type { RoleInfo } from '../../src/view/info.ts';
import * as infos from '../cluster/role-infos.ts';

const NEEDS = { pservers: 2, minTrainers: 1, leaseTtlMs: 5_000 };

const says = (info: RoleInfo, id: string): SeenProcess => ({ role: info.role, id, answer: { kind: 'info', info } });
const silent = (role: RoleInfo['role'], id: string, silentMs?: number): SeenProcess => {
  return { role, id, answer: { kind: 'none' }, ...(silentMs === undefined ? {} : { silentMs }) };
};

const MASTER = says(infos.asyncMaster(), 'master');
const PSERVER_0 = says(infos.asyncPserver(0, 1), '0');
const PSERVER_1 = says(infos.asyncPserver(1, 1), '1');
const TRAINER = says(infos.workingTrainer, 't');

const textsOf = (...processes: SeenProcess[]): string[] => healthOf(NEEDS, processes).waitingFor.map(waitingText);

describe('the health of a job', () => {
  it('is OK when all that it needs answer and work', () => {
    const health = healthOf(NEEDS, [MASTER, PSERVER_0, PSERVER_1, TRAINER]);
    expect(health).toEqual({ status: 'OK', waitingFor: [], nodes: [0, 1] });
  });

  it('is unknown when no process answers, whatever keys exist', () => {
    const health = healthOf(NEEDS, [silent('master', 'master'), silent('pserver', '0'), silent('trainer', 't')]);
    expect(health).toMatchObject({ status: 'UNKNOWN', nodes: [] });
    expect(health.waitingFor.map(({ kind }) => kind)).toEqual(['lease', 'lease', 'lease']);
    expect(healthOf(NEEDS, [])).toEqual({ status: 'UNKNOWN', waitingFor: [], nodes: [] });
  });

  it('waits for the lease of a process that does not answer, and says for how long at most', () => {
    expect(textsOf(MASTER, silent('pserver', '0', 2_100), PSERVER_1, TRAINER)).toEqual([
      'an answer of pserver 0, or the end of its lease, 3 s',
    ]);
    expect(textsOf(MASTER, silent('pserver', '0'), PSERVER_1, TRAINER)).toEqual([
      'an answer of pserver 0, or the end of its lease, 5 s',
    ]);
    expect(textsOf(silent('master', 'master', 9_000), PSERVER_0, PSERVER_1, TRAINER)).toEqual([
      'an answer of the master, or the end of its lease, 0 s',
    ]);
  });

  it('waits for a master, for pservers and for trainers', () => {
    expect(textsOf(PSERVER_0, TRAINER)).toEqual(['a master (none is registered)', 'pserver 1 (1 of 2 are running)']);
    const two = { ...NEEDS, minTrainers: 2 };
    const processes = [MASTER, PSERVER_0, PSERVER_1, TRAINER];
    expect(healthOf(two, processes)).toMatchObject({
      status: 'UNHEALTHY',
      waitingFor: [{ kind: 'trainers', text: 'trainers: 1 of 2' }],
    });
    expect(textsOf(MASTER, PSERVER_0, PSERVER_1, silent('trainer', 't', 0))).toEqual([
      'an answer of trainer t, or the end of its lease, 5 s',
    ]);
  });

  it('a trainer that answers late still counts, and one whose address another process has does not', () => {
    const ended: SeenProcess = { ...silent('trainer', 't'), answer: { kind: 'none', replacedBy: 'trainer u' } };
    expect(textsOf(MASTER, PSERVER_0, PSERVER_1, ended)).toEqual([
      'the lease of trainer t to expire, 5 s',
      'trainers: 0 of 1',
    ]);
  });

  it('does not wait for a trainer that does not listen: its lease is all that is known of it', () => {
    const client: SeenProcess = { ...silent('trainer', 'client'), address: '127.0.0.1:1' };
    expect(textsOf(MASTER, PSERVER_0, PSERVER_1, client)).toEqual([]);
    expect(textsOf(MASTER, PSERVER_0, PSERVER_1, { ...client, address: '127.0.0.1:2' })).toHaveLength(1);
  });

  it('names who does not reach a pserver that others may reach', () => {
    const troubles = [{ kind: 'pserver' as const, text: 'an answer of pserver 1' }];
    const cutOff = says({ ...infos.workingTrainer, troubles }, 't');
    expect(healthOf(NEEDS, [MASTER, PSERVER_0, PSERVER_1, cutOff])).toMatchObject({
      status: 'UNHEALTHY',
      waitingFor: [{ kind: 'pserver', text: 'an answer of pserver 1 (says trainer t)' }],
    });
  });

  it('waits for what a role waits for', () => {
    expect(textsOf(says(infos.waitingMaster, 'master'), says(infos.waitingPserver, '0'), PSERVER_1, TRAINER)).toEqual([
      'the master, which waits for the master lock',
      'pserver 0, which waits for an index',
    ]);
  });

  it('says once what several processes wait for outside', () => {
    const full = [{ kind: 'store' as const, text: 'the store: disk full at /d/store.db' }];
    const room = [{ kind: 'checkpointFolder' as const, text: 'room in the checkpoint folder /c' }];
    const master = says({ ...infos.asyncMaster(), troubles: full }, 'master');
    const pserver = says({ ...infos.asyncPserver(0, 1), held: false, troubles: [...full, ...room] } as RoleInfo, '0');
    expect(textsOf(master, pserver, PSERVER_1, TRAINER)).toEqual([
      'the store: disk full at /d/store.db',
      'room in the checkpoint folder /c',
    ]);
  });

  it('sees that a pserver is suspended even when it does not say why', () => {
    const suspended = says({ ...infos.asyncPserver(0, 1), held: false } as RoleInfo, '0');
    expect(textsOf(MASTER, suspended, PSERVER_1, TRAINER)).toEqual(['the store to renew the lease of pserver 0']);
  });
});
