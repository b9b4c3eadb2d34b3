// Makes the files duckdb-*.parquet: `npm install @duckdb/node-api@1.5.6-r.1`, then `node make-duckdb.mjs` in this folder.
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
const duckdb = await instance.connect();
await duckdb.run(`create table t as select
  9007199254740993 + i as id, (18446744073709551615 - i)::ubigint as big, i / 4 as quarter, (i % 3 = 0) as flag,
  case when i % 5 = 0 then null else 'city ' || (i % 2) end as city, 'user ' || (i * 7919) as name,
  (i - 1)::decimal(9, 2) as price, timestamp '2024-01-01 00:00:00' + i * interval 1 second as time,
  date '2024-02-28' + i::int as day, [i, i + 1] as pair, {a: i, b: 'x' || i} as s
  from range(40) r(i)`);
for (const version of ['V1', 'V2']) {
  await duckdb.run(`copy t to 'duckdb-${version.toLowerCase()}.parquet' (format parquet, compression zstd, parquet_version ${version})`);
}
