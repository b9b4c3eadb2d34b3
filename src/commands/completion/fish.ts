import { groupsOf } from '../base/command-table.ts';
import { type CommandWords, menusOf, nextWords, type Values } from './words.ts';

export function fishScript(commands: readonly CommandWords[]): string {
  const groups = groupsOf(commands.map(({ name }) => name));
  return `# Completion of paddlet for fish: put it into ~/.config/fish/completions/paddlet.fish
function __paddlet_at
    set -l words
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; and break
        test (count $words) -eq 0; and string match -q -- help $word; and continue
        set -a words $word
        contains -- "$words" ${groups.map((group) => `'${group}'`).join(' ')}; or break
    end
    test "$words" = "$argv[1]"
end
function __paddlet_jobs
    set -l files .paddlet/*/store.db .paddlet/*/logs
    string replace -r '^\\.paddlet/([^/]*)/.*' '$1' -- $files | sort -u
end
complete -c paddlet -f
${menusOf(commands)
  .flatMap((group) =>
    nextWords(commands, group).map(
      ({ word, about }) => `complete -c paddlet -n "__paddlet_at '${group}'" -a ${word} -d ${quoted(about)}`,
    ),
  )
  .join('\n')}
${commands.flatMap(linesOf).join('\n')}
`;
}

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

const HOW: Readonly<Record<'files' | 'unknown' | 'none', string>> = { files: '-r -F', unknown: '-x', none: '' };

const valuesOf = (values: Values): string =>
  typeof values === 'string' ? HOW[values] : `-x -a ${quoted(values.join(' '))}`;

function linesOf({ name, flags, args, words }: CommandWords): string[] {
  const here = `complete -c paddlet -n "__paddlet_at '${name}'"`;
  const own = flags.map(({ names, about, values }) => {
    const words = names.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
    return [here, ...words, valuesOf(values), '-d', quoted(about)].filter(Boolean).join(' ');
  });
  if (args === 'jobs' || args === 'models') {
    return [...own, `${here} -F -a ${quoted([...words, '(__paddlet_jobs)'].join(' '))}`];
  }
  if (args === 'none' || args === 'unknown') return own;
  return [...own, args === 'files' ? `${here} -F` : `${here} -a ${quoted(args.join(' '))}`];
}
