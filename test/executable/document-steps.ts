/** The commands that a document shows, each block with the sample of what it prints. */
import { type Block, blocksOf } from '../samples.ts';

export interface Step {
  readonly commands: string;
  /** Output of the commands, where the document shows it. */
  readonly sample: string | undefined;
}

/** Every block of commands; a block without a language after it is its sample. Throws for any other block. */
export function stepsOf(document: string): Step[] {
  const blocks = blocksOf(document);
  const isSample = (at: number): boolean => blocks[at]?.language === '' && blocks[at - 1]?.language === 'bash';
  const stray = blocks.find(({ language }: Block, at) => language !== 'bash' && !isSample(at));
  if (stray !== undefined) throw new Error(`neither commands nor a sample of what they print: ${stray.text}`);
  return blocks.flatMap(({ language, text: commands }, at) =>
    language === 'bash' ? [{ commands, sample: isSample(at + 1) ? blocks[at + 1]!.text : undefined }] : [],
  );
}

const END_OF_BLOCK = '--- the end of a block ---';

/** A bash script of all blocks. */
export const scriptOf = (steps: readonly Step[]): string =>
  steps.map(({ commands }) => `${commands}echo '${END_OF_BLOCK}'\n`).join('');

/** What each block of `scriptOf` printed. */
export const outputsIn = (out: string): string[] => out.split(`${END_OF_BLOCK}\n`).slice(0, -1);
