// MariaDB Connector/J: run the statements on stdin, or the driver's own features, and print what came back, a line each.
// usage: java -cp mariadb-java-client.jar Client.java HOST PORT USER PASSWORD DATABASE text|prepared|features
// Statements come one to a line, each a tab-separated list of the text and its arguments.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public final class Client {
    interface Run { String get() throws SQLException; }

    public static void main(String[] arg) throws Exception {
        String mode = arg[5];
        String url = "jdbc:mariadb://" + arg[0] + ":" + arg[1] + "/" + arg[4]
            + "?allowMultiQueries=true&allowPublicKeyRetrieval=true&useServerPrepStmts=" + mode.equals("prepared")
            + "&usePipelineAuth=false&allowLocalInfile=true";
        try (Connection db = DriverManager.getConnection(url, arg[2], arg[3])) {
            if (mode.equals("features")) features(db, url, arg[2], arg[3]); else statements(db);
        }
    }

    static void statements(Connection db) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] part = line.split("\t", -1);
            step(part[0], () -> {
                try (PreparedStatement s = db.prepareStatement(part[0])) {
                    for (int i = 1; i < part.length; i++) s.setString(i, part[i]);
                    return results(s, s.execute());
                }
            });
        }
    }

    static void features(Connection db, String url, String user, String password) throws Exception {
        try (Statement s = db.createStatement()) {
            step("create", () -> results(s, s.execute("CREATE TEMPORARY TABLE f (id INT PRIMARY KEY, v LONGTEXT)")));
            step("multi statement", () -> results(s, s.execute("SELECT 1 AS a; SELECT 2 AS b, 3 AS c; DO 0; SELECT 4")));
            step("drop procedure", () -> results(s, s.execute("DROP PROCEDURE IF EXISTS clients_out")));
            step("procedure", () -> results(s, s.execute(
                "CREATE PROCEDURE clients_out(IN a INT, OUT b INT, INOUT c INT) BEGIN SELECT a; SET b = a * 2, c = c + 1; SELECT b, c; END")));
        }
        for (boolean server : new boolean[] {false, true}) {
            String how = server ? " (server)" : " (client)";
            try (Connection c = DriverManager.getConnection(url.replaceAll("useServerPrepStmts=\\w+", "useServerPrepStmts=" + server), user, password)) {
                step("call" + how, () -> {
                    try (CallableStatement call = c.prepareCall("{call clients_out(?, ?, ?)}")) {
                        call.setInt(1, 21);
                        call.registerOutParameter(2, Types.INTEGER);
                        call.setInt(3, 1);
                        call.registerOutParameter(3, Types.INTEGER);
                        String sets = results(call, call.execute());
                        return sets + " out " + call.getInt(2) + " " + call.getInt(3);
                    }
                });
                try (Statement s = c.createStatement()) {
                    s.execute("CREATE TEMPORARY TABLE g (id INT PRIMARY KEY, v LONGTEXT)");
                }
                step("batch" + how, () -> {
                    try (PreparedStatement s = c.prepareStatement("INSERT INTO g VALUES (?, ?)")) {
                        for (int i = 0; i < 300; i++) {
                            s.setInt(1, i);
                            s.setString(2, "v" + i);
                            s.addBatch();
                        }
                        int rows = 0;
                        for (int n : s.executeBatch()) rows += n == Statement.SUCCESS_NO_INFO ? 1 : n;
                        return "rows " + rows;
                    }
                });
                step("cursor" + how, () -> {
                    try (PreparedStatement s = c.prepareStatement("SELECT id FROM g ORDER BY id")) {
                        s.setFetchSize(7);
                        long sum = 0;
                        try (ResultSet r = s.executeQuery()) { while (r.next()) sum += r.getInt(1); }
                        return "sum " + sum;
                    }
                });
                step("large" + how, () -> {
                    char[] text = new char[1 << 24];
                    Arrays.fill(text, 'x');
                    try (PreparedStatement s = c.prepareStatement("SELECT ?")) {
                        s.setString(1, new String(text));
                        try (ResultSet r = s.executeQuery()) { r.next(); return "length " + r.getString(1).length(); }
                    }
                });
                step("error and on" + how, () -> {
                    try (Statement s = c.createStatement()) { return results(s, s.execute("SELECT nope")); }
                });
                step("valid" + how, () -> "valid " + c.isValid(5));
            }
        }
        try (Statement s = db.createStatement()) {
            s.execute("DROP PROCEDURE clients_out");
        }
    }

    static void step(String name, Run run) {
        String answer;
        try {
            answer = run.get();
        } catch (SQLException e) {
            answer = "error " + e.getErrorCode() + " " + e.getSQLState() + " " + String.valueOf(e.getMessage()).replaceAll("conn=\\d+", "conn").replace('\n', ' ');
        }
        System.out.println(name + ": " + answer);
    }

    static String results(Statement s, boolean isRows) throws SQLException {
        List<String> found = new ArrayList<>();
        for (;;) {
            if (isRows) {
                try (ResultSet r = s.getResultSet()) { found.add(rows(r)); }
            } else if (s.getUpdateCount() >= 0) {
                found.add("affected " + s.getUpdateCount());
            } else {
                return found.toString();
            }
            isRows = s.getMoreResults();
        }
    }

    static String rows(ResultSet r) throws SQLException {
        ResultSetMetaData m = r.getMetaData();
        StringBuilder out = new StringBuilder("{");
        for (int i = 1; i <= m.getColumnCount(); i++) out.append(m.getColumnLabel(i)).append(' ').append(m.getColumnTypeName(i)).append(';');
        while (r.next()) {
            out.append(" (");
            for (int i = 1; i <= m.getColumnCount(); i++) out.append(i > 1 ? "," : "").append(r.getString(i));
            out.append(')');
        }
        return out.append('}').toString();
    }
}
