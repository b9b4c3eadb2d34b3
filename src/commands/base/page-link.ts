/** The link of a page. It is a secret: browsers keep what follows `#` to themselves, and no log may have it. */
import { viewTokenOf } from '../../protocol/join/view-token.ts';

/** The address of the page without the token. */
export const pageAddress = (address: string): string => `http://${address}/`;

export const pageLink = (address: string, joinToken: Uint8Array): string =>
  `${pageAddress(address)}#view=${Buffer.from(viewTokenOf(joinToken)).toString('hex')}`;
