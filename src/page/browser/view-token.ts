/** The view token is in the fragment of the link, which a browser sends to no one. */

export type TokenInLink =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none' }
  /** The token of a link that was cut short. */
  | { readonly kind: 'broken' };

export function tokenInLink(fragment: string): TokenInLink {
  const text = /^#view=(.*)$/.exec(fragment)?.[1];
  if (text === undefined) return { kind: 'none' };
  return /^[0-9a-f]{64}$/i.test(text) ? { kind: 'token', token: text.toLowerCase() } : { kind: 'broken' };
}
