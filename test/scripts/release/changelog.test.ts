import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { releaseChangelog } from '../../../scripts/release/changelog.ts';

const PREAMBLE = '# Changelog\n\nWhat changed.\n\n';
const release = (text: string) => releaseChangelog(text, '0.2.0', '2026-03-01');

test('what was unreleased gets version and date, and the next release a section', () => {
  const text = `${PREAMBLE}## Unreleased\n\n### Added\n\n- a\n\n### Fixed\n\n- b,\n  and c\n\n## 0.1.0 - 2026-01-02\n\n- old\n`;
  expect(release(text)).toEqual({
    text:
      `${PREAMBLE}## Unreleased\n\n## 0.2.0 - 2026-03-01\n\n### Added\n\n- a\n\n### Fixed\n\n- b,\n  and c\n\n` +
      '## 0.1.0 - 2026-01-02\n\n- old\n',
    notes: '### Added\n\n- a\n\n### Fixed\n\n- b,\n  and c',
  });
});

test('a first release ends the file', () => {
  const { text } = release('## Unreleased\n### Added\n- a\n');
  expect(text).toBe('## Unreleased\n\n## 0.2.0 - 2026-03-01\n\n### Added\n- a\n');
});

test('a version is released once', () => {
  const { text } = release('## Unreleased\n### Added\n- a\n');
  expect(() => release(text)).toThrow('0.2.0 is released already');
  expect(() => releaseChangelog(text, '0.3.0', '2026-03-02')).toThrow('nothing is unreleased');
});

test.each([
  ['no section', PREAMBLE, 'the first section must be "## Unreleased"'],
  ['another section on top', '## 0.1.0 (unreleased)\n### Added\n- a\n', 'the first section must be "## Unreleased"'],
  ['an entry of no kind', '## Unreleased\n\n- a\n', 'CHANGELOG.md:3: this entry is below no'],
  ['an unknown kind', '## Unreleased\n### New\n- a\n', 'CHANGELOG.md:2: "### New": expected one of Added, Changed'],
  ['no entry', '## Unreleased\n\n### Added\n', 'nothing is unreleased'],
  ['a release without a date', '## Unreleased\n### Added\n- a\n## 0.1.0\n', 'CHANGELOG.md:4: "## 0.1.0" is not'],
])('%s is refused', (_what, text, fault) => {
  expect(() => release(text)).toThrow(fault);
});

test('CHANGELOG.md has this form', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../CHANGELOG.md'), 'utf8');
  // After a release nothing is unreleased, which is no fault of the form.
  const withEntry = text.replace('## Unreleased\n', '## Unreleased\n\n### Added\n\n- An entry\n');
  expect(releaseChangelog(withEntry, '999.0.0', '2026-03-01').notes).toContain('- An entry');
});
