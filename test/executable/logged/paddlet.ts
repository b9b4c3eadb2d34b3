/** The test build: paddlet from source, whose processes log the updates that they apply. */
import { LOGS, logUpdates } from './update-log.ts';

const folder = process.env[LOGS];
if (folder === undefined) throw new Error(`${LOGS} is not set`);
logUpdates(folder);
// Only now: the import starts the command.
void import('../../../bin/paddlet.ts');
