/** The version in package.json and package-lock.json. */

interface Package {
  version: string;
}

interface Lock extends Package {
  packages: { '': Package };
}

/** The file's text with another version. */
export function withPackageVersion(text: string, version: string): string {
  const content = JSON.parse(text) as Package;
  content.version = version;
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

/** The lock file says it twice. */
export function withLockVersion(text: string, version: string): string {
  const content = JSON.parse(text) as Lock;
  content.version = version;
  content.packages[''].version = version;
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
