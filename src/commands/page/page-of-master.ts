/** The page that every master of a job serves, whether it directs the job or stands by. */
import type { RoleContext } from '../../cluster/context.ts';
import type { Page } from '../../cluster/listen.ts';
import { jobNetwork } from '../base/job-network.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import { VERSION } from '../version.ts';
import { PageFeed } from './page-feed.ts';
import { PageLooks } from './page-looks.ts';
import { servePage } from './serve-page.ts';

/** `folder` of the job on this machine. */
export function pageOfMaster({ host, store, keys, startedBy }: RoleContext, folder: string): Page {
  const looks = new PageLooks({
    ...{ host, store, keys, servedBy: 'master' },
    network: jobNetwork({ ...host, log: QUIET_LOG }, store, keys),
    // Others log elsewhere: logs that are there would be old.
    folder: startedBy === 'run' ? folder : undefined,
  });
  const empty = { version: VERSION, servedBy: 'master', jobs: [] } as const;
  const feed = new PageFeed({ host, empty, look: () => looks.look(), rest: () => looks.rest() });
  return servePage(
    (_job, viewer) => feed.add(viewer),
    async () => {
      await feed.close();
      looks.rest();
    },
  );
}
