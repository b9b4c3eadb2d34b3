/** docs/store-keys.md has every key that src/store/keys.ts makes, under its name there, and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FORMAT_VERSION } from '../../src/checkpoint/file/format.ts';
import { parseCut } from '../../src/checkpoint/registry/cut.ts';
import { entrySchema } from '../../src/checkpoint/registry/entry.ts';
import { parseParting } from '../../src/checkpoint/registry/partings.ts';
import { restoredSchema } from '../../src/checkpoint/registry/publish-restored.ts';
import { parseClusterStatus } from '../../src/cluster/job/cluster-status.ts';
import { JOB_RECORD_VERSION } from '../../src/cluster/job/job-record.ts';
import { parseJobEnd } from '../../src/cluster/job/job-watch.ts';
import { parseJoinToken } from '../../src/cluster/job/join-token.ts';
import { parseStartCommand } from '../../src/cluster/job/start-command.ts';
import { parseHead } from '../../src/cluster/placement/heads.ts';
import { parsePserverRecord } from '../../src/cluster/placement/pserver-record.ts';
import { parseTrainerEntry } from '../../src/cluster/trainer-entry.ts';
import { parseHistory } from '../../src/core/history.ts';
import { blockSchema, discardSchema, parseStoreValue, stateSchema, totalsSchema } from '../../src/core/tasks/state.ts';
import { FRAME_VERSION } from '../../src/protocol/frames/frame.ts';
import { SUBPROTOCOL } from '../../src/protocol/websocket/version.ts';
import { reconciledSchema } from '../../src/roles/master/tasks/repairs.ts';
import { keysOf } from '../../src/store/keys.ts';
import { aJob } from '../cluster/job/stored-job.ts';
import { ROOT } from '../source-files.ts';

const docs = readFileSync(join(ROOT, 'docs/store-keys.md'), 'utf8');
const keys = keysOf('') as unknown as Readonly<Record<string, string | ((...parts: readonly string[]) => string)>>;

/** The rows of the table: a key, its names in keys.ts. */
const rows = [...docs.matchAll(/^\| \[`([^`]+)`\]\(#[^)]+\) \| ((?:`\w+`(?:, )?)+) \|/gm)].map((row) => ({
  key: row[1]!,
  names: [...row[2]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
}));
const wildcardsOf = (key: string): string[] => key.match(/<\w+>/g) ?? [];

describe('docs/store-keys.md', () => {
  it.each(Object.keys(keys).filter((name) => name !== 'chroot'))('names %s of keys.ts', (name) => {
    expect(docs).toContain(`\`${name}\``);
  });

  it.each(rows)('shows $key as keys.ts makes it', ({ key, names }) => {
    const [first, ...prefixes] = names.map((name) => {
      expect(keys, name).toHaveProperty(name);
      const made = keys[name]!;
      return typeof made === 'string' ? made : made(...wildcardsOf(key));
    });
    expect(first).toBe(key);
    for (const prefix of prefixes) expect(key.startsWith(prefix), `${key} begins with ${prefix}`).toBe(true);
  });

  it.each(rows)('has a section with an example of $key', ({ key }) => {
    const start = docs.indexOf(`\n## \`${key}\`\n`);
    expect(start).toBeGreaterThan(0);
    const end = docs.indexOf('\n## ', start + 1);
    expect(docs.slice(start, end < 0 ? docs.length : end)).toMatch(/```/);
  });

  it('has a row for every key that is not a prefix of others', () => {
    const whole = Object.entries(keys).filter(([name]) => name !== 'chroot' && !/Prefix$|Blocks$/.test(name));
    const named = new Set(rows.map(({ names }) => names[0]));
    expect(whole.map(([name]) => name).filter((name) => !named.has(name))).toEqual([]);
    expect(rows.length).toBe(whole.length);
  });
});

/** The JSON examples below the heading of a key. */
function samplesOf(key: string): string[] {
  const start = docs.indexOf(`\n## \`${key}\`\n`);
  const end = docs.indexOf('\n## ', start + 1);
  return [...docs.slice(start, end).matchAll(/```(?:json)?\n([^`]+)```/g)].map(([, text]) => text!.trim());
}

/** What reads each value in paddlet; all of it that has no version of its own is under that of `/job`. */
const READERS: Readonly<Record<string, (value: string, key: string) => unknown>> = {
  '/token': (value, key) => parseJoinToken({ key, value }),
  '/result': (value, key) => parseJobEnd(key, value),
  '/history': (value, key) => parseHistory(key, value),
  '/command': (value, key) => parseStartCommand(key, value),
  '/tasks/state': (value, key) => parseStoreValue(stateSchema, key, value),
  '/tasks/blocks/<pass>/<block>': (value, key) => parseStoreValue(blockSchema, key, value),
  '/tasks/reconciled': (value, key) => parseStoreValue(reconciledSchema, key, value),
  '/tasks/passes/<pass>': (value, key) => parseStoreValue(totalsSchema, key, value),
  '/tasks/discarded/<task>': (value, key) => parseStoreValue(discardSchema, key, value),
  '/pservers/<index>': (value, key) => parsePserverRecord(key, value),
  '/pserver_cluster_status': (value, key) => parseClusterStatus(key, value),
  '/heads/<unit>': (value, key) => parseHead(key, value),
  '/trainer/<uuid>': (value, key) => parseTrainerEntry({ key, value }),
  '/checkpoints/<index>': (value, key) => parseStoreValue(entrySchema, key, value),
  '/checkpoints/cut': (value, key) => parseCut(key, { value, modRevision: 1n }),
  '/parting/<token>': (value, key) => parseParting(key, value),
  '/restored': (value, key) => parseStoreValue(restoredSchema, key, value),
};

describe('the examples in docs/store-keys.md', () => {
  it.each(Object.keys(READERS))('of %s are read by what reads the key', (key) => {
    const samples = samplesOf(key);
    expect(samples.length).toBeGreaterThan(0);
    for (const sample of samples) READERS[key]!(sample, key);
  });

  it('have the versions that are written', () => {
    const versionsOf = (key: string, field: string): string[] =>
      samplesOf(key).flatMap((sample) => sample.match(new RegExp(`(?<="${field}":)\\d+`))?.[0] ?? 'none');
    expect(versionsOf('/job', 'version')).toEqual([String(JOB_RECORD_VERSION)]);
    for (const key of ['/checkpoints/<index>', '/parting/<token>'])
      expect(versionsOf(key, 'formatVersion'), key).toEqual([String(FORMAT_VERSION)]);
  });

  it('has every field of the data of a job', () => {
    const [sample = ''] = samplesOf('/job');
    const { job } = JSON.parse(sample);
    expect(Object.keys(job.data)).toEqual(Object.keys(aJob().data));
  });

  it('and the changelog name the version of the store', () => {
    const changes = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    expect(changes).toContain(`version ${JOB_RECORD_VERSION} of \`/job\``);
    expect(changes).toContain(`subprotocol \`${SUBPROTOCOL}\`, frame format ${FRAME_VERSION}.`);
  });
});
