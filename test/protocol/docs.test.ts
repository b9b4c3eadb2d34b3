/**
 * docs/protocol.md says what the code does: every message with its fields, every code, every limit, the bytes of a
 * frame.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CODES } from '../../src/base/errors.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { errorSchema, MESSAGES, PHASES } from '../../src/protocol/messages/all-messages.ts';
import { SUBPROTOCOL, ZERO_MASK_SUBPROTOCOL } from '../../src/protocol/websocket/version.ts';
import { RECEIVE, WAITING_REQUESTS } from '../../src/protocol/websocket/wire-options.ts';

const docs = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
const golden = (name: string): Buffer => readFileSync(new URL(`../golden/frames/${name}.bin`, import.meta.url));

/** The text under `#### \`type\``, up to the next heading. */
function section(type: string): string {
  const start = docs.indexOf(`#### \`${type}\`\n`);
  expect(start, `a heading for ${type}`).toBeGreaterThan(0);
  const end = docs.indexOf('\n##', start + 5);
  return docs.slice(start, end < 0 ? docs.length : end);
}

const messages = Object.entries(MESSAGES).flatMap(([type, { request, reply }]) =>
  Object.entries({ request, reply }).map(([direction, { shape }]) => ({
    ...{ direction, type },
    fields: Object.keys(shape).filter((field) => field !== 'type'),
  })),
);

describe('docs/protocol.md', () => {
  it.each(messages)('describes the $direction $type and its fields', ({ type, fields }) => {
    const text = section(type);
    for (const field of fields) expect(text, field).toContain(`\`${field}\``);
  });

  it('describes no message that the code lacks', () => {
    const described = [...docs.matchAll(/^#### `(\w+)`$/gm)].map((match) => match[1]);
    expect(described.sort()).toEqual([...new Set(messages.map((message) => message.type))].sort());
  });

  it('has every error code with its recovery, and no other', () => {
    const rows = [...docs.matchAll(/^\| `([A-Z]\w+)` \| (retry|refresh|fatal) \| .+ \|$/gm)];
    const table = Object.fromEntries(rows.map(([, code, recovery]) => [code, recovery]));
    expect(table).toEqual(Object.fromEntries(Object.entries(CODES).map(([code, { action }]) => [code, action])));
    for (const field of Object.keys(errorSchema.shape)) expect(docs).toContain(`\`${field}\``);
  });

  it('has the limits as they are', () => {
    const rows = [...docs.matchAll(/^\| `(\w+)` \| (\d+)( MiB)? \|/gm)].filter(([, name]) =>
      Object.hasOwn(LIMITS, name!),
    );
    expect(rows.length).toBe(8);
    for (const [, name, value, unit] of rows) {
      expect(LIMITS[name as keyof typeof LIMITS], name).toBe(Number(value) * (unit === undefined ? 1 : 2 ** 20));
    }
  });

  it('names the subprotocol, the phases and the requests that wait', () => {
    expect(docs).toContain(`\`${SUBPROTOCOL}\``);
    expect(docs).toContain(`\`${ZERO_MASK_SUBPROTOCOL}\``);
    for (const way of RECEIVE) expect(docs).toContain(way);
    for (const phase of PHASES) expect(section('progress')).toContain(`"${phase}"`);
    const waiting = ['checkpoint', 'copyDigest', 'cut', 'getLanes', 'getTasks', 'pullVersion', 'replicate', 'rounds'];
    expect([...WAITING_REQUESTS].sort()).toEqual(waiting);
  });

  it('shows the bytes of a golden frame', () => {
    const shown = [...docs.matchAll(/<!-- golden: ([\w-]+) -->\n```\n([^`]+)```/g)];
    expect(shown.length).toBeGreaterThan(0);
    for (const [, name, dump] of shown) {
      const hex = dump!.replaceAll(/^[0-9a-f]{4} {2}/gm, '').replaceAll(/\s/g, '');
      expect(hex).toBe(golden(name!).toString('hex'));
    }
  });
});
