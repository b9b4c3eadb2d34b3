/** The licenses of the libraries inside the bundle, as they ask to be shipped. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One section a package of the files, in order of name. Throws when a package has no license. */
export async function thirdPartyNotices(inputs: readonly string[], root: string): Promise<string> {
  const folders = new Set<string>();
  for (const input of inputs) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match?.[1] !== undefined) folders.add(match[1]);
  }
  const sections = await Promise.all([...folders].sort().map((folder) => sectionOf(join(root, folder))));
  return sections.join(`\n${'-'.repeat(100)}\n\n`);
}

async function sectionOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
  };
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  if (texts.length === 0 && license === undefined) throw new Error(`${name} ${version} states no license`);
  return [`${name} ${version} (${license ?? 'see below'})`, ...texts.map((text) => text.trim()), ''].join('\n\n');
}
