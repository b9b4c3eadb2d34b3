import { expect, it } from 'vitest';
import { ownStyled, visible, visibleLines, visibleStyled } from '../../src/base/visible.ts';

const EVERY = Array.from({ length: 0x2100 }, (_, code) => String.fromCharCode(code)).join('');
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be gone
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

it('shows every control character, and leaves all other text as it is', () => {
  expect(visible(EVERY)).not.toMatch(CONTROL);
  expect(visible('\u001b[2J\r\n\u202e')).toBe('\\u001b[2J\\u000d\\u000a\\u202e');
  expect(visible('é 你好 🙂 \\u001b')).toBe('é 你好 🙂 \\u001b');
});

it('leaves the lines of our own texts', () => {
  expect(visibleLines('a\n\tb\u001b[1m\r')).toBe('a\n\tb\\u001b[1m\\u000d');
});

it('leaves the styles of our own words, and no other sequence', () => {
  const [id, ok] = ['\u001b[1mid\u001b[22m', '\u001b[31m\u001b[1mok\u001b[22m\u001b[39m'].map(ownStyled);
  const own = `${id}  a\n${ok}`;
  expect(visibleStyled(own)).toBe(own);
  expect(visibleStyled(`${own} \u001b[32mok\u001b[39m`)).toBe(`${own} \\u001b[32mok\\u001b[39m`);
  expect(visibleStyled(`\u001b[31m${id}`)).toBe(`\\u001b[31m${visible(id!)}`);
  // Hidden text, another title, a cleared screen, a part of a style.
  for (const other of ['\u001b[8m', '\u001b]0;x\u0007', '\u001b[2J', '\u001b[1', '\u009b1m']) {
    expect(visibleStyled(`${own}${other}`)).toBe(`${own}${visible(other)}`);
  }
});
