/**
 * Which pservers would fail together: pservers on one host, then pservers in one zone. A pserver with an unknown host
 * counts as being on a separate host, and a host with an unknown zone as being in a separate zone.
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
  /** Number of different places. */
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
   * Whether these pservers can be completed to `copies` pservers on as many hosts, and in as many zones, as that number
   * of pservers can use. A host is in one zone, so spreading over hosts never costs zones.
   */
  areApart(indexes: readonly number[], copies: number): boolean {
    const more = copies - indexes.length;
    const isSpread = ({ of, count }: Places): boolean =>
      new Set(indexes.map((index) => of.get(index))).size + more >= Math.min(copies, count);
    return isSpread(this.#hosts) && isSpread(this.#zones);
  }
}

const hostOf = ({ index, host }: PserverSite): string => (host === undefined ? `only ${index}` : `host ${host}`);

/** The zone of a host is the one that its first pserver with a zone names. */
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
