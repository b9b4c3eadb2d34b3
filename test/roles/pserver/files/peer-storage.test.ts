/** Checkpoint files that another pserver has, read through it. */

import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { isPaddletError, PaddletError } from '../../../../src/base/errors.ts';
import type { Storage } from '../../../../src/base/seams.ts';
import { checkpointPath } from '../../../../src/checkpoint/file/paths.ts';
import { digestFile } from '../../../../src/checkpoint/file/scan.ts';
import type { ReplyHeader, RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { Network, Outgoing } from '../../../../src/protocol/messages/channel.ts';
import { FileReads } from '../../../../src/roles/pserver/files/file-reads.ts';
import { createPeerStorage } from '../../../../src/roles/pserver/files/peer-storage.ts';
import { serveFile } from '../../../../src/roles/pserver/files/serve-file.ts';
import { isAwayForNow, whyUnseen } from '../../../../src/roles/pserver/files/wait-for-files.ts';
import { uuidOf } from '../../../checkpoint/fixture.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../../simulated-disk.ts';
import { FakeClock } from '../../../store/support.ts';

const FOLDER = '/data/checkpoints';
const [ME, PEER] = [1, 0];
const HERS = { folder: FOLDER, index: PEER };
const PATH = checkpointPath(HERS, uuidOf(1));
const JOB = { job: 'job', batchPlanId: 'plan' };
/** More than two parts. */
const CONTENT = Uint8Array.from({ length: 2_500_000 }, (_, at) => at % 251);

let mine: SimulatedDisk;
let hers: SimulatedDisk;
let live: { index: number; address: string; token: bigint }[];
let asked: RequestHeader[];
let answering: (header: RequestHeader) => Promise<Outgoing<ReplyHeader>>;
let open: number;
let reads: FileReads;
let storage: Storage;

beforeEach(() => {
  [mine, hers] = [createSimulatedDisk(), createSimulatedDisk()];
  hers.place(PATH, CONTENT);
  live = [{ index: PEER, address: 'her:1', token: 7n }];
  [asked, open, reads] = [[], 0, new FileReads(new FakeClock())];
  answering = async (header) =>
    serveFile({ storage: hers.storage, reads, ...HERS }, header as RequestHeader & { type: 'readFile' });
  storage = createPeerStorage({
    storage: mine.storage,
    network,
    view: { live: () => live },
    job: JOB,
    folder: FOLDER,
    index: ME,
  });
});

const network = {
  connect(address: string) {
    open += 1;
    return {
      async request({ header }: Outgoing<RequestHeader>) {
        asked.push(header);
        expect(address).toBe('her:1');
        const { header: reply, segments = [] } = await answering(header);
        return {
          ...{ header: reply, segmentCount: segments.length },
          ...{ segment: (at: number) => segments[at], free: () => {} },
        };
      },
      close: () => {
        open -= 1;
      },
    };
  },
} as unknown as Network;

const unreachable = (): Promise<never> => Promise.reject(new PaddletError('ConnectionLost', 'gone'));

async function contentOf(path: string): Promise<Uint8Array> {
  const file = await storage.openRange(path);
  const into = new Uint8Array((await file.size()) + 10);
  const count = await file.read(into, 0);
  await file.close();
  return into.subarray(0, count);
}

const codeOf = async (path: string): Promise<unknown> =>
  storage.openRange(path).then(
    () => 'opened',
    (error: Error & { code?: string }) => error.code,
  );

describe('a file that is not here', () => {
  it('is read through the live pserver whose it is, in parts', async () => {
    expect(Buffer.compare(await contentOf(PATH), CONTENT)).toBe(0);
    expect(asked[0]).toEqual({ type: 'readFile', ...JOB, index: PEER, uuid: uuidOf(1), offset: 0, maxBytes: 1 });
    expect(asked.length).toBeGreaterThan(3);
    expect(open).toBe(0);
  });

  it('is read from where it is asked for', async () => {
    const file = await storage.openRange(PATH);
    const into = new Uint8Array(5);
    expect(await file.read(into, 1_000_000)).toBe(5);
    expect(into).toEqual(CONTENT.slice(1_000_000, 1_000_005));
    expect(await file.read(into, CONTENT.length - 2)).toBe(2);
    expect(await file.read(into, CONTENT.length + 2)).toBe(0);
  });

  it('has its MD5, also where the disk has that of its own files at once', async () => {
    const md5 = createHash('md5').update(CONTENT).digest('hex');
    const quick = createSimulatedDisk();
    Object.assign(quick, { md5: async () => ({ md5: 'mine', bytes: 1 }) });
    storage = createPeerStorage({
      ...{ storage: quick.storage, network, view: { live: () => live }, job: JOB, folder: FOLDER, index: ME },
    });
    expect(await digestFile(await storage.openRange(PATH), PATH)).toEqual({ md5, bytes: CONTENT.length });
    const own = checkpointPath({ folder: FOLDER, index: ME }, uuidOf(2));
    quick.place(own, CONTENT);
    expect(await digestFile(await storage.openRange(own), own)).toEqual({ md5: 'mine', bytes: 1 });
  });

  it('is absent when that pserver has no such file, or none of that index is there', async () => {
    const other = checkpointPath(HERS, uuidOf(2));
    expect(await codeOf(other)).toBe('CheckpointMissing');
    expect(await whyUnseen(storage, HERS, [uuidOf(2)])).toBe(`${FOLDER}/${PEER} does not exist, or is empty`);
    live = [];
    expect(await codeOf(PATH)).toBe('ENOENT');
  });

  it('is damaged when it cannot be read there', async () => {
    answering = async () => {
      throw new PaddletError('CheckpointCorrupt', 'a sector cannot be read');
    };
    expect(await codeOf(PATH)).toBe('CheckpointCorrupt');
    expect(await whyUnseen(storage, HERS, [uuidOf(1)])).toBeUndefined();
  });

  it('is waited for, without asking for each, when that pserver does not answer', async () => {
    answering = unreachable;
    const why = await whyUnseen(storage, HERS, [uuidOf(1), uuidOf(2)]);
    expect(why).toMatch(/is not on this machine, and pserver 0 at her:1 does not serve it: ConnectionLost: gone/);
    expect(asked).toHaveLength(1);
    expect(open).toBe(0);
  });

  it('is out of reach when another pserver has her address now', async () => {
    answering = async (header) =>
      serveFile(
        { storage: hers.storage, reads, folder: FOLDER, index: 5 },
        header as RequestHeader & { type: 'readFile' },
      );
    expect(await whyUnseen(storage, HERS, [uuidOf(1)])).toMatch(/WrongRole: this is pserver 5, not 0/);
  });

  it('that can be read no further is missing for now, not damaged', async () => {
    const file = await storage.openRange(PATH);
    answering = unreachable;
    await expect(file.read(new Uint8Array(5), 0)).rejects.toMatchObject({ code: 'CheckpointMissing' });
    expect(await isAwayForNow(storage, HERS, [uuidOf(1), uuidOf(2)])).toBe(true);
  });

  it.each([
    ['more than was asked for', { bytes: CONTENT.length, part: 6 }],
    ['a part of another file', { bytes: CONTENT.length - 1, part: 5 }],
  ])('is not taken from an answer with %s', async (_what, { bytes, part }) => {
    const file = await storage.openRange(PATH);
    answering = async () => ({ header: { type: 'readFile', bytes }, segments: [new Uint8Array(part)] });
    await expect(file.read(new Uint8Array(5), 0)).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });
});

it('asks no pserver for what is here, or is no file of another pserver', async () => {
  mine.place(PATH, CONTENT.slice(0, 3));
  expect(await contentOf(PATH)).toEqual(CONTENT.slice(0, 3));
  live.push({ index: ME, address: 'her:1', token: 8n });
  const own = checkpointPath({ folder: FOLDER, index: ME }, uuidOf(2));
  for (const path of [own, `${FOLDER}/${PEER}/list`, `/data/other/${PEER}/${uuidOf(1)}`, `${PATH}/x`]) {
    expect(await codeOf(path)).toMatch(/ENOENT|ENOTDIR/);
  }
  expect(asked).toEqual([]);
});

describe('a pserver that gives its files', () => {
  const give = async (changes: { uuid?: string; offset?: number; maxBytes?: number }, of = hers.storage) => {
    const header = { type: 'readFile' as const, ...JOB, index: PEER, uuid: uuidOf(1), offset: 0, maxBytes: 4 };
    return serveFile({ storage: of, reads, ...HERS }, { ...header, ...changes });
  };

  it('gives nothing outside of its folder', async () => {
    hers.place('/data/secret', CONTENT);
    await expect(give({ uuid: '../../secret' })).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
  });

  it('notes which of its files is being read', async () => {
    await give({});
    await expect(give({ uuid: uuidOf(3) })).rejects.toMatchObject({ code: 'CheckpointMissing' });
    expect(reads.inProgress()).toEqual([uuidOf(1)]);
  });

  it('gives at most what was asked for, and nothing beyond the end', async () => {
    expect((await give({ offset: 2 })).segments).toEqual([CONTENT.slice(2, 6)]);
    expect((await give({ offset: CONTENT.length + 1 })).segments).toEqual([new Uint8Array(0)]);
  });

  it('answers that it is not ready when its disk refuses', async () => {
    const refusing = { openRange: () => Promise.reject(Object.assign(new Error('EMFILE'), { code: 'EMFILE' })) };
    const refused = await give({}, refusing as unknown as Storage).catch((error: unknown) => error);
    expect(isPaddletError(refused, 'NotReady')).toBe(true);
  });
});
