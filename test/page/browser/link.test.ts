import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { pauseMs } from '../../../src/page/browser/pauses.ts';
import { proofOf } from '../../../src/page/browser/proof.ts';
import { tokenInLink } from '../../../src/page/browser/view-token.ts';

const TOKEN = '5a'.repeat(32);
const NONCE = 'c3'.repeat(32);

test('the token is all of the fragment after view=', () => {
  expect(tokenInLink(`#view=${TOKEN}`)).toEqual({ kind: 'token', token: TOKEN });
  expect(tokenInLink(`#view=${TOKEN.toUpperCase()}`)).toEqual({ kind: 'token', token: TOKEN });
  expect(['', '#', `#${TOKEN}`].map((fragment) => tokenInLink(fragment).kind)).toEqual(['none', 'none', 'none']);
  const broken = [`#view=${TOKEN.slice(1)}`, `#view=${TOKEN}0`, '#view=', `#view=${'zz'.repeat(32)}`];
  expect(broken.map((fragment) => tokenInLink(fragment).kind)).toEqual(broken.map(() => 'broken'));
});

test('the proof is an HMAC of the label, the nonce and the host', () => {
  const hmac = createHmac('sha256', Buffer.from(TOKEN, 'hex')).update('paddlet.view.v1 viewer');
  const right = hmac.update(Buffer.from(NONCE, 'hex')).update('node-1.example:7000').digest('hex');
  expect(proofOf(TOKEN, NONCE, 'node-1.example:7000')).toBe(right);
});

test('pauses grow to five seconds; after a refusal they are long', () => {
  expect([0, 1, 2, 3, 4, 1000].map((failures) => pauseMs(failures, false))).toEqual([
    500, 1000, 2000, 4000, 5000, 5000,
  ]);
  expect(pauseMs(0, true)).toBe(10_000);
});
