/** What several parts of the page are made of. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export interface PanelProps {
  readonly id: string;
  readonly title: string;
  /** A note beside the title. */
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Panel({ id, title, note, children }: PanelProps) {
  return (
    <section class={`panel panel-${id}`} aria-labelledby={`title-${id}`}>
      <div class="panel-head">
        <h2 id={`title-${id}`}>{title}</h2>
        {note !== undefined && <div class="note">{note}</div>}
      </div>
      {children}
    </section>
  );
}

/** Commands in it are between backticks. */
export const Coded = ({ text }: { readonly text: string }) => (
  // An odd part is a command.
  <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
);

export const Empty = ({ children }: { readonly children: ComponentChildren }) => <p class="empty">{children}</p>;

export type Tone = 'plain' | 'accent' | 'good' | 'warning' | 'bad';

export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

export interface Fact {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly more?: ComponentChildren;
  readonly tone?: Tone | undefined;
}

export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(({ name, value, more, tone = 'plain' }) => (
      <div key={name} class={`fact ${tone}`}>
        <dt>{name}</dt>
        <dd>
          {value}
          {more !== undefined && <small>{more}</small>}
        </dd>
      </div>
    ))}
  </dl>
);

/** A list that may be long: the first ones, until all are asked for. */
export function useShowAll(total: number, most: number, what: string) {
  const [isAll, setAll] = useState(false);
  const button = total > most && (
    <button type="button" class="more" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
      {isAll ? 'Show fewer' : `Show all ${total} ${what}`}
    </button>
  );
  return { most: isAll ? total : most, button };
}
