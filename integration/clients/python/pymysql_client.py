"""PyMySQL: run the statements on stdin, or the driver's own features, and print what came back, a line each.

usage: python3 pymysql_client.py HOST PORT USER PASSWORD DATABASE text|features
"""

import json
import os
import sys
import tempfile

import pymysql
from pymysql.constants import CLIENT
from pymysql.cursors import SSCursor

host, port, user, password, database, mode = sys.argv[1:7]


def connect():
    return pymysql.connect(host=host, port=int(port), user=user, password=password, database=database,
                           autocommit=True, local_infile=True, charset="utf8mb4",
                           client_flag=CLIENT.MULTI_STATEMENTS, max_allowed_packet=64 << 20)


def plain(value):
    if value is None:
        return None
    return value.hex() if isinstance(value, bytes) else str(value)


def results(cursor):
    """Every result of one call, of which a multi-statement text or a procedure has several."""
    found = []
    while True:
        if cursor.description:
            found.append({"columns": [[d[0], d[1]] for d in cursor.description],
                          "rows": [[plain(v) for v in row] for row in cursor.fetchall()]})
        else:
            found.append({"affected": cursor.rowcount})
        if not cursor.nextset():
            return found


def step(name, run):
    try:
        answer = {"results": run()}
    except pymysql.MySQLError as e:
        answer = {"errno": e.args[0], "message": str(e.args[1]) if len(e.args) > 1 else ""}
    print(json.dumps({"step": name[:200], **answer}, ensure_ascii=False), flush=True)


def execute(db, sql, args=None, cursor=None):
    with db.cursor(cursor) as c:
        c.execute(sql, args or None)
        return results(c)


def statements(db):
    for sql, *args in json.load(sys.stdin):
        step(sql, lambda: execute(db, sql.replace("?", "%s") if args else sql, args))


def features(db):
    step("create", lambda: execute(db, "CREATE TEMPORARY TABLE f (id INT PRIMARY KEY, v LONGTEXT)"))
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as f:
        f.writelines(f"{i},row {i}\n" for i in range(20000))
    try:
        step("local infile", lambda: execute(
            db, f"LOAD DATA LOCAL INFILE '{f.name}' INTO TABLE f FIELDS TERMINATED BY ','"))
    finally:
        os.unlink(f.name)
    step("count", lambda: execute(db, "SELECT COUNT(*), SUM(id) FROM f"))
    step("unbuffered", lambda: [{"sum": sum(r[0] for r in _stream(db))}])
    step("multi statement", lambda: execute(db, "SELECT 1; SELECT 2, 3; DO 0; SELECT v FROM f WHERE id < 3 ORDER BY id"))
    step("multi with an error", lambda: execute(db, "SELECT 1; SELECT nope; SELECT 2"))
    step("executemany", lambda: [{"affected": _many(db)}])
    for size in (65535, 16777210, 16777215, 16777216, 17000000):
        text = ("0123456789abcdef" * (size // 16 + 1))[:size]
        step(f"large {size}", lambda: [{"same": _echo(db, text) == text}])
    step("select db", lambda: (db.select_db(database), execute(db, "SELECT DATABASE()"))[1])
    step("ping", lambda: (db.ping(), execute(db, "SELECT 1"))[1])


def _stream(db):
    with db.cursor(SSCursor) as c:
        c.execute("SELECT id FROM f")
        yield from c.fetchall_unbuffered()


def _many(db):
    with db.cursor() as c:
        return c.executemany("INSERT INTO f VALUES (%s, %s)", [(100000 + i, f"m{i}") for i in range(1000)])


def _echo(db, text):
    with db.cursor() as c:
        c.execute("SELECT %s", (text,))
        return c.fetchone()[0]


connection = connect()
(features if mode == "features" else statements)(connection)
connection.close()
