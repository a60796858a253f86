// mariadb (MariaDB Connector/Node.js): the statements on stdin, or the driver's own features, a line each.
// usage: node mariadb.js HOST PORT USER PASSWORD DATABASE text|prepared|features
const fs = require('fs');
const mariadb = require('mariadb');
const { print, plain, blob } = require('./print.js');

const [host, port, user, password, database, mode] = process.argv.slice(2);
const options = { host, port: Number(port), user, password, database, dateStrings: true, rowsAsArray: true,
  bigIntAsNumber: false, insertIdAsNumber: true, multipleStatements: true, allowPublicKeyRetrieval: true, metaAsArray: true };

const one = (rows, fields) => Array.isArray(rows) ? { columns: (fields || []).map((f) => f.name()), rows: plain(rows) }
  : { affected: rows.affectedRows, warnings: rows.warningStatus };

// With metaAsArray every answer is [rows, fields]; of several results it is a list of both.
const answer = ([rows, fields]) => Array.isArray(fields?.[0]) || (Array.isArray(rows) && rows.some((r) => r?.affectedRows !== undefined))
  ? { results: rows.map((r, i) => one(r, fields?.[i])) } : one(rows, fields);

async function step(name, run) {
  try {
    print(name, answer(await run()));
  } catch (e) {
    print(name, { errno: e.errno, state: e.sqlState, message: (e.sqlMessage ?? e.message).replace(/conn:-?\d+/, 'conn') });
  }
}

async function statements(db) {
  for (const [sql, ...args] of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    await step(sql, () => mode === 'prepared' ? db.execute(sql, args) : db.query(sql, args));
  }
}

async function features(db) {
  await step('create', () => db.query('CREATE TEMPORARY TABLE f (id INT PRIMARY KEY, v LONGTEXT)'));
  await step('batch', async () => [await db.batch('INSERT INTO f VALUES (?, ?)', [[1, 'one'], [2, 'two'], [3, null]])].map((r) => Array.isArray(r) ? r[0] : r));
  await step('batch of many', async () => [await db.batch('INSERT INTO f VALUES (?, ?)', Array.from({ length: 500 }, (_, i) => [i + 10, 'v' + i]))].map((r) => Array.isArray(r) ? r[0] : r));
  await step('count', () => db.query('SELECT COUNT(*), SUM(id) FROM f'));
  await step('multi statement', () => db.query('SELECT 1 AS a; SELECT 2 AS b, 3 AS c; DO 0; SELECT v FROM f WHERE id < 4 ORDER BY id'));
  const statement = await db.prepare('SELECT ? + id, v FROM f WHERE id > ? AND id < 5 ORDER BY id');
  for (const n of [0, 1, 2]) await step('prepared again', () => statement.execute([10, n]));
  statement.close();
  await step('stream', async () => {
    let n = 0;
    for await (const row of db.queryStream('SELECT id FROM f ORDER BY id')) n += Number(row[0]);
    return [[[n]], [{ name: () => 'sum' }]];
  });
  for (const size of [65536, 16777210, 16777216]) {
    await step('large text ' + size, async () => {
      const [[[value]], fields] = await db.query('SELECT ? AS v', [blob(size)]);
      return [[[value.length, value === blob(size)]], fields];
    });
  }
  await step('pipelined', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => db.query('SELECT ' + i)));
    return [all.map(([rows]) => rows[0]), all[0][1]];
  });
  await step('change user', async () => { await db.changeUser({ user, password, database }); return db.query('SELECT CURRENT_USER(), DATABASE()'); });
  await step('reset', async () => { await db.query('SET @x = 1'); await db.reset(); return db.query('SELECT @x'); });
  await step('ping', async () => { await db.ping(); return db.query('SELECT 1'); });
}

(async () => {
  const db = await mariadb.createConnection(options);
  await (mode === 'features' ? features(db) : statements(db));
  await db.end();
})().catch((e) => { console.error(e); process.exit(1); });
