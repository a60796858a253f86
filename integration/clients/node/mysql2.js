// mysql2: run the statements on stdin, or the driver's own features, and print what came back, a line each.
// usage: node mysql2.js HOST PORT USER PASSWORD DATABASE text|prepared|features
const fs = require('fs');
const { Readable } = require('stream');
const mysql = require('mysql2/promise');
const { print, plain, blob } = require('./print.js');

const [host, port, user, password, database, mode] = process.argv.slice(2);
const options = { host, port: Number(port), user, password, database, dateStrings: true, rowsAsArray: true,
  supportBigNumbers: true, bigNumberStrings: true, multipleStatements: true,
  infileStreamFactory: () => Readable.from([Buffer.from('1,one\n2,two\n3,three\n')]) };

const answer = ([rows, fields]) => Array.isArray(rows) && fields !== undefined
  ? { columns: (fields || []).map((f) => f && (f.name ?? f.map((g) => g.name))), rows: plain(rows) }
  : { affected: rows.affectedRows, info: rows.info ?? '', warnings: rows.warningStatus };

async function step(name, run) {
  try {
    print(name, answer(await run()));
  } catch (e) {
    print(name, { errno: e.errno, state: e.sqlState, message: e.sqlMessage ?? e.message });
  }
}

async function statements(db) {
  for (const [sql, ...args] of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    await step(sql, () => mode === 'prepared' ? db.execute(sql, args) : db.query(sql, args));
  }
}

async function features(db) {
  await step('create', () => db.query('CREATE TEMPORARY TABLE f (id INT PRIMARY KEY, v LONGTEXT)'));
  await step('local infile', () => db.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE f FIELDS TERMINATED BY ','"));
  await step('multi statement', () => db.query('SELECT 1 AS a; SELECT 2 AS b, 3 AS c; DO 0; SELECT v FROM f ORDER BY id'));
  await step('multi with an error', () => db.query('SELECT 1; SELECT nope; SELECT 2'));
  const statement = await db.prepare('SELECT ? + id, v FROM f WHERE id > ? ORDER BY id');
  for (const n of [0, 1, 2]) await step('prepared again', () => statement.execute([10, n]));
  await statement.close();
  for (const size of [1, 65535, 65536, 16777210, 16777215, 16777216, 17000000]) {
    await step('large text ' + size, async () => {
      const [[[value]], fields] = await db.query('SELECT ? AS v', [blob(size)]);
      return [[[value.length, value === blob(size)]], fields];
    });
    await step('large parameter ' + size, async () => {
      const [[[value]], fields] = await db.execute('SELECT CONCAT(?) AS v', [blob(size)]);
      return [[[value.length, value === blob(size)]], fields];
    });
  }
  await step('change user', async () => { await db.changeUser({ user, password, database }); return db.query('SELECT CURRENT_USER(), DATABASE()'); });
  await step('temporary table is gone', () => db.query('SELECT * FROM f'));
  await step('reset', async () => { await db.query('SET @x = 1'); await db.reset(); return db.query('SELECT @x'); });
  await step('ping', async () => { await db.ping(); return db.query('SELECT 1'); });
  await step('kill', async () => {
    const other = await mysql.createConnection(options);
    const [[[id]]] = await other.query('SELECT CONNECTION_ID()');
    const same = id === other.threadId || String(id) === String(other.threadId);
    other.on('error', () => {});
    await db.query('KILL ' + id);
    const failed = await other.query('SELECT 1').then(() => false, () => true);
    return [[[same, failed]], [{ name: 'id is the server\'s' }, { name: 'killed' }]];
  });
}

(async () => {
  const db = await mysql.createConnection(options);
  await (mode === 'features' ? features(db) : statements(db));
  await db.end();
})().catch((e) => { console.error(e); process.exit(1); });
