/** Rules of the connections between pservers that have copies of each other's units, and of the host of their links. */
import type { Mutation } from './mutation.ts';

const KEPT = 'src/cluster/client/kept-connection.ts';
const CONNECTION = 'src/roles/pserver/replicas/peer-connection.ts';
const CONNECTIONS = 'src/roles/pserver/replicas/peer-connections.ts';
const HOST = 'src/roles/pserver/replicas/links-host.ts';
const CONNECTION_TESTS = ['test/roles/pserver/replicas/peer-connection.test.ts'];
const HOST_TESTS = ['test/roles/pserver/replicas/links-host.test.ts'];
const ROOM_TESTS = ['test/roles/pserver/replicas/links-room.test.ts'];
const WHOLE = ['test/roles/pserver/replicas/hosted-links.test.ts'];

export const PEER_CONNECTIONS: readonly Mutation[] = [
  {
    rule: 'a connection that is lost is closed: it would send what was given to it before',
    file: KEPT,
    find: '      channel.close();\n',
    replace: '',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'connections on which nothing but the opening is answered are made with longer and longer pauses',
    file: KEPT,
    find: '    this.#current = current;\n',
    replace: '    this.#current = current;\n    this.#failures = 0;\n',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'a connection that was of use is made again at once',
    file: KEPT,
    find: '        this.#failures = 0;\n',
    replace: '',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'a closed connection waits for what was sent to arrive',
    file: KEPT,
    find: 'if (this.isClosed) await this.#lastAnswers(current);',
    replace: '',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'answers of a peer count in the order of the batches',
    file: CONNECTION,
    find: '    this.#giveAnswers(open);\n',
    replace: '    if (this.#open === open) this.#options.onAnswer(sent.answer);\n',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'an answer on a connection that is lost counts for nothing',
    file: CONNECTION,
    find: 'this.#open === open && answer !== undefined',
    replace: 'answer !== undefined',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'an answer that does not fit is a failure in a row',
    file: CONNECTION,
    find: '      if (this.#open !== open) return;\n',
    replace: '',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'a batch that is refused for good ends its connection, too',
    file: CONNECTION,
    find: '    connection.lose();\n',
    replace: "    if (error.action !== 'fatal') connection.lose();\n",
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'a batch may wait far longer for its answer than a member may be silent',
    file: CONNECTION,
    find: 'const ANSWER_SILENCES = 4;',
    replace: 'const ANSWER_SILENCES = 1;',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'an answer that does not fit what was sent ends the connection',
    file: CONNECTIONS,
    find: 'if (!onAnswer(peer, kept.number!, answer)) kept.connection.reconnect();',
    replace: 'onAnswer(peer, kept.number!, answer);',
    tests: HOST_TESTS,
  },
  {
    rule: 'a connection to a peer that no unit needs is closed',
    file: CONNECTIONS,
    find: 'for (const { peer } of [...this.#kept.values()]) if (!isIn(peers, peer)) this.close(peer);\n',
    replace: '',
    tests: HOST_TESTS,
  },
  {
    rule: 'there is one connection to a peer',
    file: CONNECTIONS,
    find: 'address !== undefined && !this.#kept.has(keyOfOwner(peer))',
    replace: 'address !== undefined',
    tests: HOST_TESTS,
  },
  {
    rule: 'batches go out when the caller has returned',
    file: HOST,
    find: '    queueMicrotask(() => {\n',
    replace: '    ((run: () => void) => run())(() => {\n',
    tests: HOST_TESTS,
  },
  {
    rule: 'what a step of a unit has to send is followed by a turn',
    file: HOST,
    find: 'this.#havePeersChanged = true;\n    this.#takeTurn();\n  }\n\n  /**\n',
    replace: 'this.#havePeersChanged = true;\n  }\n\n  /**\n',
    tests: HOST_TESTS,
  },
  {
    rule: 'an answer is followed by a turn: it has made room',
    file: HOST,
    find: '    this.#takeTurn();\n    return true;\n',
    replace: '    return true;\n',
    tests: ROOM_TESTS,
  },
  {
    rule: 'a connection that opens is followed by a turn: its window is known',
    file: HOST,
    find: '    this.#takeTurn();\n    return connection;\n',
    replace: '    return connection;\n',
    tests: ROOM_TESTS,
  },
  {
    rule: 'a peer that no unit needs any more is told so before its connection is closed',
    file: HOST,
    find: '    for (const batch of this.#links.batches(this.#areCommitsDue)) this.#connections.send(batch);\n',
    replace:
      '    this.#connections.keep(queue.peers());\n    for (const batch of this.#links.batches(this.#areCommitsDue)) this.#connections.send(batch);\n',
    tests: HOST_TESTS,
  },
  {
    rule: 'commit positions that wait for an update go alone after a while',
    file: HOST,
    find: '    if (this.#links.haveCommits) this.#planCommits();\n',
    replace: '',
    tests: HOST_TESTS,
  },
  {
    rule: 'room that is not taken at once is free again',
    file: HOST,
    find: 'if (this.#offered === id) queue.cancel(id);',
    replace: '',
    tests: ROOM_TESTS,
  },
  {
    rule: 'room that was not taken is offered to the next in the same turn',
    file: HOST,
    find: 'for (let granted = queue.grant(); granted.length > 0; granted = queue.grant())\n      for (const id of granted) this.#offerRoom(id);',
    replace: 'for (const id of queue.grant()) this.#offerRoom(id);',
    tests: ROOM_TESTS,
  },
  {
    rule: 'a wait that has ended leaves no room taken',
    file: HOST,
    find: '      this.#links.queue.cancel(id);\n',
    replace: '',
    tests: ROOM_TESTS,
  },
  {
    rule: 'a connection to a process that has lost its index is closed',
    file: HOST,
    find: '    this.#connections.close(peer);\n',
    replace: '',
    tests: HOST_TESTS,
  },
  {
    rule: 'what was on its way on a connection that is lost is forgotten',
    file: HOST,
    find: '        this.#links.closed(peer, connection);\n',
    replace: '',
    tests: WHOLE,
  },
  {
    rule: 'any answer of a peer ends its silence for all units',
    file: HOST,
    find: '    this.#heard(peer);\n',
    replace: '',
    tests: HOST_TESTS,
  },
  {
    rule: 'units hear of a peer on each of its connections',
    file: HOST,
    find: '        this.#heardMs.delete(keyOfOwner(peer));\n',
    replace: '',
    tests: HOST_TESTS,
  },
  {
    rule: 'units hear of a peer again and again',
    file: HOST,
    find: 'nowMs - reportedMs < silenceMs / HEARD_PART',
    replace: 'nowMs >= reportedMs',
    tests: HOST_TESTS,
  },
  {
    rule: 'nothing is told when the host is closed',
    file: HOST,
    find: 'for (const frame of frames) if (!this.#isClosed) units',
    replace: 'for (const frame of frames) units',
    tests: HOST_TESTS,
  },
];
