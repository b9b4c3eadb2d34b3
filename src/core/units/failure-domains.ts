/**
 * Which pservers would fail together: those of one host, then those of one zone. What is not known of a pserver counts
 * as apart from all others, since nothing speaks against it.
 */

/** Where a pserver runs. */
export interface PserverSite {
  readonly index: number;
  readonly host: string | undefined;
  readonly zone: string | undefined;
}

interface Places {
  /** Index → place. */
  readonly of: ReadonlyMap<number, string>;
  /** Different ones. */
  readonly count: number;
}

export class FailureDomains {
  /** Ascending. */
  readonly indexes: readonly number[];
  readonly #hosts: Places;
  readonly #zones: Places;

  constructor(sites: readonly PserverSite[]) {
    const sorted = [...sites].sort((a, b) => a.index - b.index);
    this.indexes = sorted.map(({ index }) => index);
    this.#hosts = placesOf(sorted, hostOf);
    const zones = zonesOfHosts(sorted);
    this.#zones = placesOf(sorted, (site) => zones.get(hostOf(site)) ?? hostOf(site));
  }

  /**
   * Whether more pservers can join these until there are `copies`, so that they are on as many hosts as that number of
   * pservers can be, and in as many zones. A host is in one zone, so spreading over hosts never costs zones.
   */
  areApart(indexes: readonly number[], copies: number): boolean {
    const more = copies - indexes.length;
    const isSpread = ({ of, count }: Places): boolean =>
      new Set(indexes.map((index) => of.get(index))).size + more >= Math.min(copies, count);
    return isSpread(this.#hosts) && isSpread(this.#zones);
  }
}

const hostOf = ({ index, host }: PserverSite): string => (host === undefined ? `only ${index}` : `host ${host}`);

/** A host is in the zone that the first of its pservers tells. */
function zonesOfHosts(sites: readonly PserverSite[]): ReadonlyMap<string, string> {
  const zones = new Map<string, string>();
  for (const site of sites) {
    const host = hostOf(site);
    if (site.zone !== undefined && !zones.has(host)) zones.set(host, `zone ${site.zone}`);
  }
  return zones;
}

function placesOf(sites: readonly PserverSite[], placeOf: (site: PserverSite) => string): Places {
  const of = new Map(sites.map((site) => [site.index, placeOf(site)]));
  return { of, count: new Set(of.values()).size };
}
