/** What was probably meant by words that name no command. */
import { PaddletError } from '../../base/errors.ts';
import { nearest } from '../../job/complaints.ts';
import { groupsOf } from './command-table.ts';

/** What other programs call it, or what it is for. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  train: ['run', 'trainer'],
  fit: ['run'],
  start: ['run'],
  resume: ['run'],
  attach: ['run'],
  eval: ['evaluate'],
  test: ['evaluate'],
  score: ['predict', 'evaluate'],
  infer: ['predict'],
  worker: ['trainer'],
  server: ['pserver'],
  scheduler: ['master'],
  scale: ['resize'],
  kill: ['stop'],
  ps: ['top', 'status'],
  stuck: ['why'],
  log: ['logs'],
  curve: ['history'],
  check: ['doctor'],
  new: ['init'],
  save: ['checkpoint save'],
  list: ['checkpoint ls'],
  generate: ['data synth'],
  'checkpoint list': ['checkpoint ls'],
  'data recordio ls': ['data recordio list'],
  'checkpoint show': ['checkpoint inspect'],
  'checkpoint check': ['checkpoint verify'],
  'checkpoint compare': ['checkpoint diff'],
  'checkpoint restore': ['restore'],
};

/** `ids` are those of all commands. */
export function unknownCommand(words: readonly string[], ids: readonly string[]): PaddletError {
  const names = ids.map((id) => id.replaceAll(':', ' '));
  const groups = groupsOf(names);
  const inner = words.slice(0, 2).join(' ');
  const isInner = words.length > 2 && groups.includes(inner);
  const [first = '', second] = isInner ? [inner, words[2]] : words;
  if (/^(-j|--(json|log-level|log-format))\b/.test(first))
    return new PaddletError('Usage', `${first} must come after the command`, {
      hint: 'write all flags after the command: paddlet COMMAND [FLAGS]',
    });
  const meant = meantBy(first, second, names);
  const all = groups.includes(first)
    ? `\`paddlet ${first} --help\` lists its commands`
    : '`paddlet --help` lists all commands';
  const hint = meant.length === 0 ? all : `did you mean ${meant.map((name) => `\`paddlet ${name}\``).join(' or ')}?`;
  return new PaddletError('Usage', `no such command: ${words.slice(0, isInner ? 3 : 2).join(' ')}`, { hint });
}

function meantBy(first: string, second: string | undefined, names: readonly string[]): readonly string[] {
  const groups = groupsOf(names);
  const both = `${first} ${second ?? ''}`.trim();
  if (first.startsWith('-')) return [];
  if (Object.hasOwn(OTHER_NAMES, both)) return OTHER_NAMES[both]!;
  if (groups.includes(first)) {
    const own = names.filter((name) => name.startsWith(`${first} `));
    const near = nearest(both, own);
    // The name of the group is not a part of the likeness.
    const isNear = near !== undefined && nearest(second ?? '', [near.slice(first.length + 1)]) !== undefined;
    return isNear ? [near] : [];
  }
  const whole =
    second === undefined
      ? undefined
      : nearest(
          both,
          names.filter((name) => name.includes(' ')),
        );
  if (whole !== undefined) return [whole];
  // The second word of a command may be given alone: `inspect`.
  const last = names.filter((name) => name.endsWith(` ${first}`));
  if (last.length > 0) return last;
  const near = nearest(first, [...names, ...groups, ...Object.keys(OTHER_NAMES)]);
  if (near === undefined) return [];
  return Object.hasOwn(OTHER_NAMES, near) ? OTHER_NAMES[near]! : [near];
}
