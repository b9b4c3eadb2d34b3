/** The page as it is built: whole in one text, and what its policy allows is what is in it. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { thirdPartyNotices } from '../../scripts/build-steps/notices.ts';
import { PAGE_HTML, PAGE_INPUTS, PAGE_SECURITY_POLICY } from '../../src/page/generated/page.ts';
import { ROOT } from '../source-files.ts';

const insideOf = (tag: string): string[] =>
  [...PAGE_HTML.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map(([, text]) => text!);

test('the policy allows the one script and the one style, and no others', () => {
  const hashes = ['script', 'style'].map((tag) => {
    const [text, ...others] = insideOf(tag);
    expect(others).toEqual([]);
    return createHash('sha256').update(text!).digest('base64');
  });
  expect(PAGE_SECURITY_POLICY.split('; ')).toEqual([
    "default-src 'none'",
    `script-src 'sha256-${hashes[0]}'`,
    `style-src 'sha256-${hashes[1]}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
});

test('it loads nothing, and has no line ends that a browser would change before it hashes', () => {
  expect(PAGE_HTML).not.toMatch(/<(?:script|link|img|iframe)[^>]+(?:src|href)="(?!data:,")/);
  expect(PAGE_HTML).not.toContain('\r');
});

test('the licenses of the libraries in it are shipped', async () => {
  const notices = await thirdPartyNotices(PAGE_INPUTS, ROOT);
  expect(notices.match(/^\S+ [\d.]+ \(.*\)$/gm)).toEqual([
    expect.stringMatching(/^@noble\/hashes .*\(MIT\)$/),
    expect.stringMatching(/^preact .*\(MIT\)$/),
    expect.stringMatching(/^uplot .*\(MIT\)$/),
  ]);
});
