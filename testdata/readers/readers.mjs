// Reads every value of a Parquet export with three readers that have nothing in
// common with the writer or each other, and compares what they add up to:
// hyparquet (JavaScript), parquet-wasm (the Rust implementation of Arrow) and
// ClickHouse (C++, by chdb). The last also runs the query of docs/fleet.md.
//
//   node readers.mjs DATASET     a folder of host=…/run=… of exports
import {readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {parquetMetadataAsync, parquetReadObjects} from 'hyparquet';
import {compressors} from 'hyparquet-compressors';
import * as arrow from 'apache-arrow';
import wasm from 'parquet-wasm';
import {query} from 'chdb';

const MASK = (1n << 64n) - 1n;
let wrong = 0;
const fail = (text) => { wrong++; console.error('WRONG: ' + text); };

// A column adds up to how many values are NULL, and to the sum of the others:
// whole numbers modulo 2^64, text by its bytes.
class Sum {
  rows = 0; nulls = 0; whole = 0n; real = 0;
  add(v) {
    this.rows++;
    if (v === null || v === undefined) this.nulls++;
    else if (typeof v === 'string') this.whole += BigInt(Buffer.byteLength(v));
    else if (typeof v === 'boolean') this.whole += v ? 1n : 0n;
    else if (typeof v === 'bigint') this.whole += v;
    else this.real += v;
  }
  toString() { return `${this.rows} rows, ${this.nulls} NULL, sum ${(this.whole & MASK)} ${this.real.toPrecision(12)}`; }
}

async function byHyparquet(file, columns) {
  const sums = Object.fromEntries(columns.map((c) => [c.name, new Sum()]));
  const rows = await parquetReadObjects({file, compressors});
  for (const r of rows) for (const c of columns) sums[c.name].add(r[c.name]);
  return sums;
}

function byRust(bytes, columns) {
  const sums = Object.fromEntries(columns.map((c) => [c.name, new Sum()]));
  const table = arrow.tableFromIPC(wasm.readParquet(new Uint8Array(bytes)).intoIPCStream());
  for (const c of columns) {
    const v = table.getChild(c.name);
    for (let i = 0; i < table.numRows; i++) sums[c.name].add(v.get(i));
  }
  return sums;
}

function byClickHouse(path, columns) {
  const parts = columns.flatMap((c) => {
    const n = '`' + c.name + '`';
    const text = c.kind === 'text', real = c.kind === 'real';
    return ['count()', `countIf(isNull(${n}))`,
      real ? `toString(0)` : `toString(sum(toInt256(${text ? `length(${n})` : n})))`,
      real ? `sum(${n})` : '0'];
  });
  const line = query(`SELECT ${parts.join(', ')} FROM file('${path}', 'Parquet') SETTINGS use_hive_partitioning = 0`, 'JSONCompactEachRow');
  const got = JSON.parse(line);
  return Object.fromEntries(columns.map((c, i) => {
    const s = new Sum();
    [s.rows, s.nulls] = [Number(got[4 * i]), Number(got[4 * i + 1])];
    s.whole = BigInt(got[4 * i + 2] ?? 0);
    s.real = Number(got[4 * i + 3] ?? 0);
    return [c.name, s];
  }));
}

const kindOf = (e) => e.type === 'DOUBLE' ? 'real' : e.type === 'BYTE_ARRAY' ? 'text' : 'whole';

// Statistics must hold what the column holds, and rows must come by time.
function statistics(name, meta, rows) {
  let at = 0;
  for (const g of meta.row_groups) {
    const part = rows.slice(at, at += Number(g.num_rows));
    for (const {meta_data: c} of g.columns) {
      const s = c.statistics, column = c.path_in_schema[0];
      if (!s || s.null_count === undefined) { fail(`${name}.${column}: no statistics`); continue; }
      const values = part.map((r) => r[column]).filter((v) => v !== null && v !== undefined);
      if (BigInt(part.length - values.length) !== BigInt(s.null_count)) fail(`${name}.${column}: null_count ${s.null_count}`);
      if (c.type !== 'INT64' || values.length === 0) continue;
      const least = values.reduce((a, b) => a < b ? a : b), most = values.reduce((a, b) => a > b ? a : b);
      if (s.min_value !== least || s.max_value !== most) fail(`${name}.${column}: ${s.min_value} to ${s.max_value}, not ${least} to ${most}`);
    }
  }
}

// The tables of things that happened, and the times by which they are sorted.
const TIMES = {
  api_calls: ['start_ns', 'end_ns'], ioctls: ['start_ns', 'end_ns'], gpu_activities: ['start_ns', 'end_ns'], slices: ['start_ns', 'end_ns'],
  idle_gaps: ['start_ns'], counters: ['ts_ns'], sched: ['start_ns', 'end_ns'], marks: ['ts_ns'], others: ['ts_ns'], jobs: ['queued_ns', 'run_ns', 'device_start_ns', 'done_ns'],
};

function sorted(name, rows) {
  if (!TIMES[name]) return 0;
  let last = -(1n << 63n);
  for (const r of rows) {
    const t = TIMES[name].map((c) => r[c]).find((v) => v !== null && v !== undefined);
    if (t === undefined) continue;
    if (t < last) { fail(`${name}: ${t} after ${last}`); return 1; }
    last = t;
  }
  return 1;
}

const dataset = process.argv[2];
let tables = 0, values = 0, byTime = 0, groups = 0;
const runs = readdirSync(dataset).flatMap((h) => readdirSync(join(dataset, h)).map((r) => join(dataset, h, r)));
for (const dir of runs) {
  for (const f of readdirSync(dir).filter((f) => f.endsWith('.parquet'))) {
    const name = f.replace('.parquet', ''), path = join(dir, f), bytes = readFileSync(path);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const meta = await parquetMetadataAsync(file);
    const columns = meta.schema.slice(1).map((e) => ({name: e.name, kind: kindOf(e)}));
    const facts = Object.fromEntries(meta.key_value_metadata.map((x) => [x.key, x.value]));
    for (const k of ['gpurec.clock', 'gpurec.schema_version', 'gpurec.columns']) {
      if (!facts[k]) fail(`${name}: no ${k} in the metadata: ${Object.keys(facts)}`);
    }
    const a = await byHyparquet(file, columns), b = byRust(bytes, columns), c = byClickHouse(path, columns);
    for (const {name: col} of columns) {
      if (`${a[col]}` !== `${b[col]}` || `${a[col]}` !== `${c[col]}`) {
        fail(`${name}.${col}: hyparquet ${a[col]}; Rust ${b[col]}; ClickHouse ${c[col]}`);
      }
      values += a[col].rows;
    }
    const rows = await parquetReadObjects({file, compressors});
    statistics(name, meta, rows);
    byTime += sorted(name, rows);
    groups += meta.row_groups.length;
    tables++;
  }
}
console.log(`${runs.length} runs, ${tables} tables, ${groups} row groups, ${values} values: ${wrong ? 'see above' : 'three readers agree'}; ${byTime} tables are in order of time`);

console.log('ClickHouse ' + query('SELECT version()', 'TSVRaw').trim() + ', the query of docs/fleet.md:');
const answer = query(`
  SELECT host, run, ring, quantile(0.99)(queue_delay_ns) / 1e6 AS p99_ms
  FROM file('${dataset}/host=*/run=*/jobs.parquet', 'Parquet')
  GROUP BY host, run, ring ORDER BY p99_ms DESC, host
  SETTINGS use_hive_partitioning = 1`, 'TSV');
console.log(answer.trim());
if (new Set(answer.trim().split('\n').map((l) => l.split('\t')[0])).size < 2) fail('not all hosts are in the answer');
process.exit(wrong ? 1 : 0);
