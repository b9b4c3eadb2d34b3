/** A merged model of each format version, sound and damaged: `predict`, `evaluate` and `checkpoint verify`. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { encodeHeader } from '../../../src/checkpoint/file/safetensors/header.ts';
import { ROOT } from '../../source-files.ts';
import { type Ran, runCommand } from '../run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'paddlet-merged-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const version of ['v2', 'v3']) {
  cpSync(join(ROOT, `test/golden/model/${version}.safetensors`), join(folder, `${version}.safetensors`));
}
writeFileSync(join(folder, 'some.txt'), '1 1:1 12:0.5\n0 7:1 15:0.5\n');

const paddlet = (...args: string[]): Promise<Ran> => runCommand(args, { cwd: folder });
const predict = (model: string): Promise<Ran> => paddlet('predict', model, '--data', 'some.txt');
const evaluate = (model: string): Promise<Ran> => paddlet('evaluate', model, '--data', 'some.txt');
const verify = (model: string): Promise<Ran> => paddlet('checkpoint', 'verify', model);

test('a sound model is verified and scores; one without checksums scores, too, and is said to be unchecked', async () => {
  const [former, now] = [await predict('v2.safetensors'), await predict('v3.safetensors')];
  expect([former.code, former.out]).toEqual([now.code, now.out]);
  expect(now.out).toBe('score\n0.5000367\n0.49311477\n');
  expect(now.err).not.toContain('unchecked');
  expect(former.err).toContain('v2.safetensors: unchecked: an earlier version wrote it, without checksums');
  expect((await evaluate('v2.safetensors')).err).toContain('unchecked');
  expect(await verify('v3.safetensors')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/ ok\nall 4 shards.*\nok\n/),
  });
  expect(await verify('v2.safetensors')).toMatchObject({ code: 0, out: expect.stringMatching(/\nunchecked\n$/) });
});

test('safetensors of another program are said to be unchecked, and are not scored', async () => {
  const tensor = { name: 'weight', dtype: 'F32', shape: [2], begin: 0, end: 8 } as const;
  const header = encodeHeader({ format: 'pt' }, [tensor], 160)!;
  writeFileSync(join(folder, 'other.safetensors'), Buffer.concat([header, new Uint8Array(8)]));
  const { code, out, err } = await verify('other.safetensors');
  expect([code, out]).toEqual([0, expect.stringMatching(/not a paddlet file\nunchecked\n$/)]);
  expect(err).toContain('the file has no checksums');
  expect((await predict('other.safetensors')).code).toBe(7);
});

test('one flipped bit anywhere in a model is noticed', async () => {
  const bytes = readFileSync(join(folder, 'v3.safetensors'));
  const path = join(folder, 'mutant.safetensors');
  const { length } = bytes;
  // A step that is prime meets header, ids and values of each table.
  const places = [...Array.from({ length: Math.ceil(length / 61) }, (_, at) => at * 61), length - 1];
  for (const [count, place] of places.entries()) {
    const mutant = Buffer.from(bytes);
    mutant[place]! ^= 1 << (count % 8);
    writeFileSync(path, mutant);
    for (const { code, out } of [await predict('mutant.safetensors'), await verify('mutant.safetensors')]) {
      expect([place, code, out.includes('score,')]).toEqual([place, 7, false]);
    }
  }
  expect((await evaluate('mutant.safetensors')).code).toBe(7);
});
