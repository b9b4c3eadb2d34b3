import { groupsOf } from '../base/command-table.ts';
import { type CommandWords, menusOf, nextWords, type Values } from './words.ts';

export function zshScript(commands: readonly CommandWords[]): string {
  const groups = groupsOf(commands.map(({ name }) => name));
  return `#compdef paddlet
# Completion of paddlet for zsh: put it into a folder of $fpath as _paddlet, or source it after compinit.
_paddlet() {
  local cmd= prev=\${words[CURRENT-1]} word i
  local -a next
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    case "$cmd:$word" in
      (*:-*) break ;;
      (:help) ;;
      (:*) cmd=$word ;;
      (${groups.map((group) => `'${group}':*`).join('|')}) cmd="$cmd $word" ;;
      (*) break ;;
    esac
  done
  if [[ $PREFIX == --*=* ]]; then
    prev=\${PREFIX%%=*}
    compset -P '*='
  fi
  case "$cmd $prev" in
    ${commands.flatMap(valueCases).join('\n    ')}
  esac
  if [[ $PREFIX == -* ]]; then
    case "$cmd" in
      ${commands.map(flagCase).join('\n      ')}
    esac
    _describe -o flag next
    return
  fi
  case "$cmd" in
    ${menusOf(commands)
      .map((group) => `('${group}') next=(${described(nextWords(commands, group))}); _describe command next ;;`)
      .join('\n    ')}
    ${commands.flatMap(argCase).join('\n    ')}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _paddlet "$@"; else compdef _paddlet paddlet; fi
`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const described = (words: readonly { readonly word: string; readonly about: string }[]): string =>
  words.map(({ word, about }) => quoted(`${word}:${about}`)).join(' ');

function flagCase({ name, flags }: CommandWords): string {
  const words = flags.flatMap(({ names, about }) => names.map((word) => ({ word, about })));
  return `('${name}') next=(${described(words)}) ;;`;
}

function actionOf(values: Values): string | undefined {
  if (values === 'none') return undefined;
  if (values === 'unknown') return '_message value';
  return values === 'files' ? '_files' : `compadd -- ${values.join(' ')}`;
}

function valueCases({ name, flags }: CommandWords): string[] {
  return flags.flatMap(({ names, values }) => {
    const action = actionOf(values);
    const pattern = names.map((flag) => `'${name} ${flag}'`).join('|');
    return action === undefined ? [] : [`(${pattern}) ${action}; return ;;`];
  });
}

function argCase({ name, args, words }: CommandWords): string[] {
  if (args === 'jobs' || args === 'models') {
    const files = args === 'jobs' ? '_files -/' : '_files';
    return [
      `('${name}') next=(${words.join(' ')} .paddlet/*/(store.db|logs)(N:h:t)); compadd -- \${(u)next}; ${files} ;;`,
    ];
  }
  const action = actionOf(args);
  return action === undefined ? [] : [`('${name}') ${action} ;;`];
}
