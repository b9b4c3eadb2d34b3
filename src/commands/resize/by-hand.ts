/** What an operator does in a cluster whose processes `paddlet run` does not start. */
import { shellCommand } from '../../cluster/job/start-command.ts';
import type { SizesAsked } from '../base/size-bounds.ts';
import type { ResizeState } from './resize-state.ts';

/** Flags by which a role finds the job. */
export type WhereArguments = readonly string[];

/** Lines for people; empty when no process has to be started or stopped. */
export function byHand(state: ResizeState, asked: SizesAsked, where: WhereArguments): string[] {
  const command = (...words: readonly string[]): string => `  ${shellCommand(['paddlet', ...words, ...where])}`;
  const lines: string[] = [];
  const { missing } = state.spread;
  if (asked.pservers !== undefined && missing.length > 0) {
    lines.push('to be started, unless `paddlet run` does it:');
    lines.push(...missing.map((index) => command('pserver', '--index', String(index))));
  }
  const more = asked.trainers === undefined ? 0 : asked.trainers - state.trainers;
  if (more > 0) lines.push(`to be started ${more} times, unless \`paddlet run\` does it:`, command('trainer'));
  if (more < 0) {
    lines.push(`to be stopped by SIGTERM, unless \`paddlet run\` does it: ${-more} of the ${state.trainers} trainers`);
  }
  return lines;
}
