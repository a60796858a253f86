// libmariadb: what only the C connector does. mariadb_stmt_execute_direct sends PREPARE and EXECUTE in one go (the id in
// EXECUTE is -1, since PREPARE is unanswered), bulk execute sends many rows in one command, and the connector asks the
// server to leave out result-set metadata it has already seen.
// usage: pipeline HOST PORT USER PASSWORD DATABASE features
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MYSQL *db;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void query(const char *sql) {
  if (mysql_query(db, sql)) fail(sql, mysql_error(db));
}

// Prints the rows of an executed statement: one integer and one string column.
static void print_rows(const char *step, MYSQL_STMT *s) {
  int id = 0;
  char text[64] = "";
  unsigned long length = 0;
  my_bool null[2] = {0, 0};
  MYSQL_BIND out[2];
  memset(out, 0, sizeof out);
  out[0].buffer_type = MYSQL_TYPE_LONG, out[0].buffer = &id, out[0].is_null = &null[0];
  out[1].buffer_type = MYSQL_TYPE_STRING, out[1].buffer = text, out[1].buffer_length = sizeof text - 1;
  out[1].length = &length, out[1].is_null = &null[1];
  if (mysql_stmt_bind_result(s, out)) fail(step, mysql_stmt_error(s));
  for (;;) {
    int r = mysql_stmt_fetch(s);
    if (r == MYSQL_NO_DATA) break;
    if (r && r != MYSQL_DATA_TRUNCATED) fail(step, mysql_stmt_error(s));
    if (null[1])
      printf("%s: %d NULL\n", step, id);
    else
      printf("%s: %d %.*s\n", step, id, (int)length, text);
  }
  mysql_stmt_free_result(s);
}

static void direct(const char *sql) {
  MYSQL_STMT *s = mysql_stmt_init(db);
  if (mariadb_stmt_execute_direct(s, sql, strlen(sql)))
    printf("%s: error %u %s\n", sql, mysql_stmt_errno(s), mysql_stmt_sqlstate(s));
  else if (mysql_stmt_field_count(s))
    print_rows(sql, s);
  else
    printf("%s: affected %llu\n", sql, (unsigned long long)mysql_stmt_affected_rows(s));
  mysql_stmt_close(s);
}

// One prepared statement run again and again: from the second time on the server may leave out the metadata.
static void again(unsigned long cursor) {
  const char *sql = "SELECT id, v FROM p WHERE id > ? ORDER BY id";
  MYSQL_STMT *s = mysql_stmt_init(db);
  if (cursor) mysql_stmt_attr_set(s, STMT_ATTR_CURSOR_TYPE, &cursor);
  if (mysql_stmt_prepare(s, sql, strlen(sql))) fail(sql, mysql_stmt_error(s));
  for (int from = 0; from < 3; from++) {
    MYSQL_BIND in;
    memset(&in, 0, sizeof in);
    in.buffer_type = MYSQL_TYPE_LONG, in.buffer = &from;
    if (mysql_stmt_bind_param(s, &in) || mysql_stmt_execute(s)) fail(sql, mysql_stmt_error(s));
    print_rows(cursor ? "cursor" : "again", s);
  }
  mysql_stmt_close(s);
}

static void bulk(void) {
  const char *sql = "INSERT INTO p VALUES (?, ?)";
  enum { ROWS = 200 };
  static int id[ROWS];
  static char text[ROWS][16];
  static char *texts[ROWS];
  static unsigned long length[ROWS];
  unsigned int rows = ROWS;
  for (int i = 0; i < ROWS; i++) {
    id[i] = 1000 + i;
    length[i] = (unsigned long)snprintf(text[i], sizeof text[i], "bulk %d", i);
    texts[i] = text[i];
  }
  MYSQL_BIND in[2];
  memset(in, 0, sizeof in);
  in[0].buffer_type = MYSQL_TYPE_LONG, in[0].buffer = id;
  in[1].buffer_type = MYSQL_TYPE_STRING, in[1].buffer = texts, in[1].length = length;
  MYSQL_STMT *s = mysql_stmt_init(db);
  if (mysql_stmt_prepare(s, sql, strlen(sql))) fail(sql, mysql_stmt_error(s));
  mysql_stmt_attr_set(s, STMT_ATTR_ARRAY_SIZE, &rows);
  if (mysql_stmt_bind_param(s, in) || mysql_stmt_execute(s))
    printf("bulk: error %u\n", mysql_stmt_errno(s));
  else
    printf("bulk: affected %llu\n", (unsigned long long)mysql_stmt_affected_rows(s));
  mysql_stmt_close(s);
}

int main(int argc, char **argv) {
  if (argc != 7 || strcmp(argv[6], "features")) fail("usage", "pipeline HOST PORT USER PASSWORD DATABASE features");
  db = mysql_init(NULL);
  if (!mysql_real_connect(db, argv[1], argv[3], argv[4], argv[5], (unsigned)atoi(argv[2]), NULL, CLIENT_MULTI_STATEMENTS))
    fail("connect", mysql_error(db));
  int mariadb = mariadb_connection(db);
  query("CREATE TEMPORARY TABLE p (id INT PRIMARY KEY, v VARCHAR(32))");
  query("INSERT INTO p VALUES (1, 'one'), (2, 'two'), (3, NULL)");
  for (int i = 0; i < 20; i++) {
    direct("SELECT id, v FROM p WHERE id < 3 ORDER BY id");
    direct("UPDATE p SET v = CONCAT(v, '+') WHERE id = 1");
  }
  direct("SELECT nope FROM p");
  direct("SELECT id, v FROM p ORDER BY id");
  again(0);
  again(CURSOR_TYPE_READ_ONLY);
  if (mariadb) bulk();
  direct("SELECT COUNT(*), MAX(v) FROM p");
  if (mysql_change_user(db, argv[3], argv[4], argv[5])) fail("change user", mysql_error(db));
  if (mysql_reset_connection(db)) fail("reset", mysql_error(db));
  if (mysql_ping(db)) fail("ping", mysql_error(db));
  printf("statistics: %s\n", mysql_stat(db) ? "some" : "none");
  mysql_close(db);
  return 0;
}
