/** `paddlet --version`. Imports nothing that takes time: the entry point answers it before anything else is loaded. */
import packageJson from '../../package.json' with { type: 'json' };

export const VERSION: string = packageJson.version;

export function versionLine(): string {
  return `paddlet/${VERSION} ${process.platform}-${process.arch} node-${process.version}`;
}
