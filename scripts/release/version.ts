/** Which version comes next (https://semver.org, without pre-releases). */

const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

type Version = readonly [major: number, minor: number, patch: number];

function parse(text: string): Version {
  const found = VERSION.exec(text);
  if (found === null) throw new Error(`"${text}" is not a version: expected MAJOR.MINOR.PATCH, for example 1.2.0`);
  return [Number(found[1]), Number(found[2]), Number(found[3])];
}

function isLower(a: Version, b: Version): boolean {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at !== -1 && a[at]! < b[at]!;
}

/**
 * The version after `current`: `bump` is patch, minor, major or the version itself. `current` itself is allowed, since
 * a project's first version is released as it is. Throws on a version that is lower or malformed.
 */
export function nextVersion(current: string, bump: string): string {
  const [major, minor, patch] = parse(current);
  if (bump === 'major') return `${major + 1}.0.0`;
  if (bump === 'minor') return `${major}.${minor + 1}.0`;
  if (bump === 'patch') return `${major}.${minor}.${patch + 1}`;
  if (isLower(parse(bump), [major, minor, patch])) throw new Error(`${bump} is lower than ${current}, the version now`);
  return bump;
}
