/** What help and the manual show of a flag, whatever its type is. */
export interface ShownFlag {
  readonly name?: string;
  readonly char?: string;
  readonly description?: string;
  readonly helpValue?: string | readonly string[];
  readonly helpGroup?: string;
  readonly hidden?: boolean;
  readonly options?: readonly string[];
  readonly multiple?: boolean;
  readonly required?: boolean;
  readonly env?: string;
  readonly default?: unknown;
  readonly type: string;
}

/** Choices that are longer together stand in the description. */
const CHOICES_CHARACTERS = 24;

/** `FILE`, `text|json`; empty for a switch. */
export function valueText({ name = '', helpValue, options = [], multiple, type }: ShownFlag): string {
  if (type === 'boolean') return '';
  const choices = options.join('|');
  const short = choices !== '' && choices.length <= CHOICES_CHARACTERS ? choices : undefined;
  const value = helpValue ?? short ?? name.split('-').at(-1)!.toUpperCase();
  return `${value}${multiple ? '...' : ''}`;
}

/** The description with choices, default and environment variable, each a sentence. */
export function aboutOf(flag: ShownFlag): string {
  const { description = '', options = [], required, env, default: initial } = flag;
  const isListed = options.length > 0 && valueText(flag).startsWith(options.join('|'));
  const hasDefault = (typeof initial === 'string' || typeof initial === 'number') && initial !== '';
  return [
    description,
    options.length > 0 && !isListed ? `One of: ${options.join(', ')}.` : '',
    required ? 'Required.' : '',
    hasDefault && !/\bDefault:/.test(description) ? `Default: ${initial === '-' ? 'stdout' : initial}.` : '',
    env === undefined ? '' : `Environment: ${env}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
