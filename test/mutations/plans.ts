/** Rules of which pservers have which copies of units. What each is for is said where the plan is made. */
import type { Mutation } from './mutation.ts';

const COPIES = ['test/core/units/plan-copies.test.ts', 'test/core/units/plan-peers.test.ts'];
const DUE = ['test/core/units/due-copies.test.ts'];
const PLAN = 'src/core/units/plan.ts';
const PLAN_COPIES = 'src/core/units/plan-copies.ts';
const DUE_COPIES = 'src/core/units/due-copies.ts';
const TABLE = 'src/core/units/peer-table.ts';
const DOMAINS = 'src/core/units/failure-domains.ts';

export const PLANS: readonly Mutation[] = [
  {
    rule: 'a plan of copies does not depend on the order of the pservers',
    file: DOMAINS,
    find: '[...sites].sort((a, b) => a.index - b.index)',
    replace: '[...sites]',
    tests: COPIES,
  },
  {
    rule: 'a plan of primaries does not depend on the order of in-sync sets',
    file: PLAN,
    find: 'shares.get(index) ?? []).sort((a, b) => a.index - b.index)',
    replace: 'shares.get(index) ?? [])',
    tests: ['test/core/units/plan.test.ts'],
  },
  {
    rule: 'the copies of a unit are on different pservers',
    file: TABLE,
    find: 'if (peer === owner || peers.has(peer) || ',
    replace: 'if (peers.has(peer) || ',
    tests: COPIES,
  },
  {
    rule: 'a peer that is exchanged is not replaced by the primary or another peer',
    file: TABLE,
    find: 'if (to === owner || peers.has(to)) return false;',
    replace: 'if (to === owner) return false;',
    tests: COPIES,
  },
  {
    rule: 'the copies of a unit are on different hosts where that is possible',
    file: DOMAINS,
    find: 'return isSpread(this.#hosts) && isSpread(this.#zones);',
    replace: 'return isSpread(this.#zones);',
    tests: COPIES,
  },
  {
    rule: 'the copies of a unit are in different zones where that is possible',
    file: DOMAINS,
    find: 'return isSpread(this.#hosts) && isSpread(this.#zones);',
    replace: 'return isSpread(this.#hosts);',
    tests: COPIES,
  },
  {
    rule: 'a peer is not exchanged for one on the host of another copy',
    file: TABLE,
    find: 'return domains.areApart([owner, to, ...[...peers].filter((peer) => peer !== from)], copies);',
    replace: 'return domains.areApart([], copies);',
    tests: COPIES,
  },
  {
    rule: 'a host is in one zone',
    file: DOMAINS,
    find: 'zones.get(hostOf(site)) ?? hostOf(site)',
    replace: 'site.zone ?? hostOf(site)',
    tests: COPIES,
  },
  {
    rule: 'a pserver that leaves has no copy',
    file: PLAN_COPIES,
    find: 'new FailureDomains(pservers.filter(({ leaving }) => !leaving))',
    replace: 'new FailureDomains(pservers)',
    tests: COPIES,
  },
  {
    rule: 'there are as many copies as are wanted, and no more',
    file: TABLE,
    find: 'if (peer === owner || peers.has(peer) || peers.size + 1 === copies) return;',
    replace: 'if (peer === owner || peers.has(peer)) return;',
    tests: COPIES,
  },
  {
    rule: 'a pserver backs up as many others as every other one does',
    file: TABLE,
    find: '    while (this.#evenOut());\n',
    replace: '',
    tests: COPIES,
  },
  {
    rule: 'where hosts forbid a single exchange of peers, a chain of them makes copies even',
    file: TABLE,
    find: '          longer.push({ end: exchange.to, exchanges: chain });\n',
    replace: '',
    tests: COPIES,
  },
  {
    rule: 'a copy that is in sync stays where nothing else is better',
    file: TABLE,
    find: '    for (const owner of this.#peers.keys()) this.#keep(owner);\n',
    replace: '',
    tests: COPIES,
  },
  {
    rule: 'of the peers that a pserver has, those with most of its units stay',
    file: TABLE,
    find: 'kept(owner, b) - kept(owner, a) || a - b',
    replace: 'kept(owner, a) - kept(owner, b) || a - b',
    tests: COPIES,
  },
  {
    rule: 'the owner that loses least exchanges its peer',
    file: TABLE,
    find: 'owners.sort((a, b) => kept(a, from) - kept(b, from) || a - b);',
    replace: 'owners.sort((a, b) => kept(b, from) - kept(a, from) || a - b);',
    tests: COPIES,
  },
  {
    rule: 'a pserver without units is not counted where copies are evened out',
    file: PLAN_COPIES,
    find: 'new PeerTable(new Set(primaries.values()), {',
    replace: 'new PeerTable(domains.indexes, {',
    tests: COPIES,
  },
  {
    rule: 'an in-sync copy takes over what a dead pserver led, before one that led it last',
    file: PLAN,
    find: 'isLed || takers.length > 0 ? leader : last',
    replace: 'isLed ? leader : last',
    tests: COPIES,
  },
  {
    rule: 'an in-sync copy takes over what a leaving pserver leads',
    file: PLAN,
    find: 'lightest(takers.length > 0 ? takers : shares.values())',
    replace: 'lightest(shares.values())',
    tests: COPIES,
  },
  {
    rule: 'with one copy the plan is that of primaries',
    file: PLAN_COPIES,
    find: 'replicas === 1 ? units.map(withoutCopies) : units',
    replace: 'units',
    tests: COPIES,
  },
  {
    rule: 'no copy is planned while something that the plan is made of is unknown',
    file: DUE_COPIES,
    find: '  if (!isLeaving && !isKnown(view)) return undefined;\n',
    replace: '',
    tests: DUE,
  },
  {
    rule: 'no copy is removed, and no unit handed over, before all copies that are wanted are in sync',
    file: DUE_COPIES,
    find: 'if (missing.length > 0 || joining.size > 0) return',
    replace: 'if (joining.size > 0) return',
    tests: DUE,
  },
  {
    rule: 'no copy is removed, and no unit handed over, while a copy is being made',
    file: DUE_COPIES,
    find: 'if (missing.length > 0 || joining.size > 0) return',
    replace: 'if (missing.length > 0) return',
    tests: DUE,
  },
  {
    rule: 'a copy that is being made is not made again',
    file: DUE_COPIES,
    find: 'missing.filter((index) => !joining.has(index))',
    replace: 'missing',
    tests: DUE,
  },
  {
    rule: 'only the one that is to lead a unit removes copies of it',
    file: DUE_COPIES,
    find: '  if (primary !== me) return { joins, handOvers: [primary], removals: [] };\n',
    replace:
      '  if (primary !== me) return { joins, handOvers: [primary], removals: inSync.filter((index) => index !== me) };\n',
    tests: DUE,
  },
  {
    rule: 'nothing is due for a unit that is being handed over',
    file: DUE_COPIES,
    find: 'if (wanted === undefined || handingOver.has(unit)) continue;',
    replace: 'if (wanted === undefined) continue;',
    tests: DUE,
  },
  {
    rule: 'a unit that is being handed over counts as its target has it',
    file: DUE_COPIES,
    find: 'view.handingOver.get(unit) ?? (own === undefined ? leader : view.me)',
    replace: '(own === undefined ? leader : view.me)',
    tests: DUE,
  },
  {
    rule: 'a primary plans by what it knows of its own copies, not by what the store still shows',
    file: DUE_COPIES,
    find: 'const steps = stepsOf(wanted, { me, inSync, ',
    replace:
      'const steps = stepsOf(wanted, { me, inSync: view.units.find((one) => one.unit === unit)?.inSync ?? inSync, ',
    tests: DUE,
  },
];
