/**
 * CHANGELOG.md in the form of https://keepachangelog.com: a section `## Unreleased` on top, then one
 * `## VERSION - YYYY-MM-DD` per release, newest first. The entries of each are lists below `### Added`, `### Changed`
 * and so on.
 */

const KINDS: readonly string[] = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
const UNRELEASED = '## Unreleased';
const RELEASE_HEADING = /^## \d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/;

export interface ReleasedChangelog {
  /** The whole file: what was unreleased has version and date, and an empty section for the next version is on top. */
  readonly text: string;
  /** The entries of this release, without its heading. */
  readonly notes: string;
}

/** Gives the unreleased entries a version and a date (YYYY-MM-DD). Throws when there are none, or the form is wrong. */
export function releaseChangelog(text: string, version: string, date: string): ReleasedChangelog {
  const lines = text.split('\n');
  const headings = lines.flatMap((line, at) => (line.startsWith('## ') ? [at] : []));
  const [first, second = lines.length] = headings;
  if (first === undefined || lines[first] !== UNRELEASED)
    throw new Error(`CHANGELOG.md: the first section must be "${UNRELEASED}"`);
  for (const at of headings.slice(1)) {
    if (!RELEASE_HEADING.test(lines[at]!)) throw faultAt(at, `"${lines[at]}" is not "## VERSION - YYYY-MM-DD"`);
    if (lines[at]!.startsWith(`## ${version} `)) throw faultAt(at, `${version} is released already`);
  }
  checkEntries(lines, first + 1, second);
  const notes = lines
    .slice(first + 1, second)
    .join('\n')
    .trim();
  const before = lines.slice(0, first + 1).join('\n');
  const after = lines.slice(second).join('\n');
  const released = `${before}\n\n## ${version} - ${date}\n\n${notes}\n${after === '' ? '' : `\n${after}`}`;
  return { text: released, notes };
}

/** Checks that each entry in the lines from `from` up to, but excluding, `to` is below a heading of a known kind. */
function checkEntries(lines: readonly string[], from: number, to: number): void {
  let entries = 0;
  let kind: string | undefined;
  for (let at = from; at < to; at++) {
    const line = lines[at]!;
    if (line.startsWith('### ')) {
      kind = line.slice(4);
      if (!KINDS.includes(kind)) throw faultAt(at, `"${line}": expected one of ${KINDS.join(', ')}`);
    } else if (line.startsWith('- ')) {
      if (kind === undefined) throw faultAt(at, 'this entry is below no "### Added", "### Changed", "### Fixed"');
      entries++;
    }
  }
  if (entries === 0) throw new Error('CHANGELOG.md: nothing is unreleased');
}

const faultAt = (at: number, what: string): Error => new Error(`CHANGELOG.md:${at + 1}: ${what}`);
