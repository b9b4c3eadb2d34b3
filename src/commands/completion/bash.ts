import { groupsOf } from '../base/command-table.ts';
import { type ArgValues, type CommandWords, type FlagWords, menusOf, nextWords } from './words.ts';

/** Bash takes `=` for the end of a word, so that `--flag=value` comes as three. */
export function bashScript(commands: readonly CommandWords[]): string {
  const groups = groupsOf(commands.map(({ name }) => name));
  return `# Completion of paddlet for bash: source it, or put it into ~/.local/share/bash-completion/completions/paddlet
_paddlet() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} cmd= word i
  local flags= files= args= words=
  if [[ $cur == = ]]; then cur=
  elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$cmd:$word" in
      *:-*) break ;;
      :help) ;;
      :*) cmd=$word ;;
      ${groups.map((group) => `'${group}':*`).join('|')}) cmd="$cmd $word" ;;
      *) break ;;
    esac
  done
  COMPREPLY=()
  # A URL, of which bash makes several words.
  if [[ $cur == : || $prev == : ]]; then return; fi
  case "$cmd" in
    ${menusOf(commands)
      .map((group) => `'${group}') args=${inQuotes(nextWords(commands, group).map(({ word }) => word))} ;;`)
      .join('\n    ')}
    ${commands.map(commandCase).join('\n    ')}
  esac
  case "$cmd $prev" in
    ${commands.flatMap(valueCases).join('\n    ')}
  esac
  if [[ " $files " == *" $prev "* || ( $args == files && $cur != -* ) ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
  elif [[ $args == jobs || $args == models ]]; then
    compopt -o filenames 2>/dev/null
    for word in .paddlet/*/store.db .paddlet/*/logs; do
      if [[ -e $word ]]; then word=\${word#.paddlet/}; words="$words \${word%%/*}"; fi
    done
    if [[ $args == jobs ]]; then i=-d; else i=-f; fi
    mapfile -t COMPREPLY < <({ compgen -W "$words" -- "$cur"; compgen $i -- "$cur"; } | sort -u)
  else
    mapfile -t COMPREPLY < <(compgen -W "$args" -- "$cur")
  fi
}
complete -F _paddlet paddlet
`;
}

const inQuotes = (words: readonly string[]): string => `'${words.join(' ')}'`;

const namesOf = (flags: readonly FlagWords[]): string[] => flags.flatMap(({ names }) => names);

const wordsOf = (values: ArgValues): string =>
  values === 'files' || values === 'jobs' || values === 'models'
    ? values
    : inQuotes(typeof values === 'string' ? [] : values);

function commandCase({ name, flags, args, words }: CommandWords): string {
  const files = flags.filter(({ values }) => values === 'files');
  return `'${name}') flags=${inQuotes(namesOf(flags))} files=${inQuotes(namesOf(files))} args=${wordsOf(args)} words=${inQuotes(words)} ;;`;
}

/** Flags whose values are words, or cannot be known. */
function valueCases({ name, flags }: CommandWords): string[] {
  return flags.flatMap(({ names, values }) => {
    if (values === 'files' || values === 'none') return [];
    const pattern = names.map((flag) => `'${name} ${flag}'`).join('|');
    if (values === 'unknown') return [`${pattern}) return ;;`];
    return [`${pattern}) mapfile -t COMPREPLY < <(compgen -W ${inQuotes(values)} -- "$cur"); return ;;`];
  });
}
