import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../data/place.ts';
import { runCommand } from '../run-command.ts';

const TEXT = '1 1:1\n\n0 2:1\n1 3:1\n0 4:1\n';

function place() {
  const cwd = testFolder();
  writeFileSync(join(cwd, 'text'), TEXT);
  const recordio = (...words: string[]) => runCommand(['data', 'recordio', ...words], { cwd });
  const json = async (...words: string[]) => JSON.parse((await recordio(...words, '--json')).out);
  return { cwd, recordio, json, to: join(cwd, 'out') };
}

test('what is packed is listed and printed', async () => {
  const { recordio, json, to } = place();
  const packed = await json('pack', 'text', '-o', 'out', '--chunk-records', '2', '--compressor', 'none');
  expect(packed).toEqual({ to, records: 5, chunks: 3, bytes: 3 * 20 + 5 * 4 + TEXT.length - 5 });
  const chunk = { chunk: 1, offset: 0, bytes: 33, records: 2, compressor: 'none' };
  expect(await json('list', 'out')).toMatchObject({ path: 'out', records: 5, corrupt: 0, chunks: [chunk, {}, {}] });
  expect((await recordio('list', 'out')).out).toMatch(/ 2 +33 +38 +2 +none +good\n/);
  expect((await recordio('cat', 'out')).out).toBe(TEXT);
  expect((await recordio('cat', 'out', '--from', '2', '--count', '2')).out).toBe('\n0 2:1\n');
  const lines = (await recordio('cat', 'out', '--from', '4', '--json')).out;
  expect(lines).toBe('{"record":4,"text":"1 3:1"}\n{"record":5,"text":"0 4:1"}\n');
});

test('JSON of more records than are written at a time', async () => {
  const { cwd, recordio } = place();
  writeFileSync(join(cwd, 'many'), 'x\n'.repeat(2500));
  await recordio('pack', 'many', '-o', 'out');
  const lines = (await recordio('cat', 'out', '--from', '300', '--count', '2100', '--json')).out.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).record)).toEqual(Array.from({ length: 2100 }, (_, at) => 300 + at));
});

test('the standard output is no file to pack to', async () => {
  const ran = await place().recordio('pack', 'text', '-o', '-');
  expect([ran.code, ran.err]).toEqual([
    2,
    expect.stringContaining('--output - is not a file\nhint: give the path of a file'),
  ]);
});

test('a chunk that is cut off is not passed over', async () => {
  const { recordio, to } = place();
  await recordio('pack', 'text', '-o', 'out', '--chunk-records', '2');
  writeFileSync(to, readFileSync(to).subarray(0, -1));
  const printed = await recordio('cat', 'out', '--from', '99');
  expect([printed.code, printed.err]).toEqual([
    3,
    expect.stringMatching(/chunk 3, at byte \d+: it is cut off: expected/),
  ]);
});

test('a file that exists is replaced only when that is wanted', async () => {
  const { recordio, to } = place();
  expect((await recordio('pack', 'text', '-o', 'out')).code).toBe(0);
  const again = await recordio('pack', 'text', '-o', 'out');
  expect([again.code, again.err]).toEqual([
    2,
    expect.stringContaining(`${to} exists\nhint: replace it with --replace`),
  ]);
  const forced = await recordio('pack', 'text', '-o', 'out', '--replace');
  expect([forced.code, forced.out]).toEqual([0, expect.stringContaining('out: 5 records in 1 chunks')]);
});

test('a corrupt chunk is listed as one, and not printed', async () => {
  const { recordio, json, to } = place();
  await recordio('pack', 'text', '-o', 'out', '--chunk-records', '2');
  const bytes = readFileSync(to);
  bytes[30]! ^= 1;
  writeFileSync(to, bytes);
  const fault = expect.stringContaining('CRC-32');
  expect(await json('list', 'out')).toMatchObject({ records: 3, corrupt: 1, chunks: [{ fault }, {}, {}] });
  const listed = await recordio('list', 'out');
  expect(listed.code).toBe(3);
  expect(listed.out).toMatch(/corrupt: its CRC-32 .*3 good records in 3 chunks; corrupt: 1\n/s);
  const printed = await recordio('cat', 'out');
  expect([printed.code, printed.out, printed.err]).toEqual([3, '', expect.stringContaining('chunk 1, at byte 0: ')]);
  expect((await recordio('cat', 'out', '--from', '3')).out).toBe('0 2:1\n1 3:1\n0 4:1\n');
});

test.each([
  ['list', 'text', 'text is not a RecordIO file', 3],
  ['cat', 'text', 'text is not a RecordIO file', 3],
  ['cat', 'nothing', 'no such data file: nothing', 3],
  ['cat', '.', '. is not a file', 3],
  ['pak', 'text', 'no such command: data recordio pak\nhint: did you mean `paddlet data recordio pack`?', 2],
])('%s %s', async (command, file, message, code) => {
  const ran = await place().recordio(command, file);
  expect([ran.code, ran.out, ran.err]).toEqual([code, '', expect.stringContaining(message)]);
});

test('a text that cannot be read leaves nothing', async () => {
  const { recordio, to } = place();
  const ran = await recordio('pack', 'nothing', '-o', 'out');
  expect([ran.code, ran.err]).toEqual([3, expect.stringContaining('cannot read nothing: ENOENT')]);
  expect(existsSync(to)).toBe(false);
});

test('the group has an overview', async () => {
  expect((await place().recordio()).out).toMatch(/data recordio pack .*data recordio list .*data recordio cat /s);
});
