<?php
// PHP PDO: run the statements on stdin, or the driver's own features, and print what came back, a line each.
// text emulates prepared statements (PDO's default); prepared lets the server prepare (Laravel's default).
// usage: php pdo.php HOST PORT USER PASSWORD DATABASE text|prepared|features
[, $host, $port, $user, $password, $database, $mode] = $argv;

function connect(bool $emulate): PDO {
    global $host, $port, $user, $password, $database;
    return new PDO("mysql:host=$host;port=$port;dbname=$database;charset=utf8mb4", $user, $password, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => $emulate,
        PDO::ATTR_STRINGIFY_FETCHES => true,
        PDO::MYSQL_ATTR_LOCAL_INFILE => true,
    ]);
}

function results(PDOStatement $s): array {
    $found = [];
    do {
        if ($s->columnCount() > 0) {
            $names = [];
            for ($i = 0; $i < $s->columnCount(); $i++) {
                $names[] = $s->getColumnMeta($i)['name'];
            }
            $rows = array_map(fn ($row) => array_map(
                fn ($v) => $v === null || preg_match('//u', $v) ? $v : bin2hex($v), $row), $s->fetchAll(PDO::FETCH_NUM));
            $found[] = ['columns' => $names, 'rows' => $rows];
        } else {
            $found[] = ['affected' => $s->rowCount()];
        }
    } while ($s->nextRowset());
    return $found;
}

function step(string $name, callable $run): void {
    try {
        $answer = ['results' => $run()];
    } catch (PDOException $e) {
        $answer = ['error' => $e->errorInfo ?? $e->getMessage()];
    }
    echo json_encode(['step' => substr($name, 0, 200)] + $answer, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
}

function run(PDO $db, string $sql, array $args = []): array {
    $s = $db->prepare($sql);
    $s->execute($args);
    return results($s);
}

function features(): void {
    foreach ([true, false] as $emulate) {
        $db = connect($emulate);
        $how = $emulate ? ' (emulated)' : ' (server)';
        step("create$how", fn () => run($db, 'CREATE TEMPORARY TABLE f (id INT PRIMARY KEY, v LONGTEXT)'));
        $file = tempnam(sys_get_temp_dir(), 'pdo');
        file_put_contents($file, implode('', array_map(fn ($i) => "$i,row $i\n", range(1, 5000))));
        step("local infile$how", fn () => [$db->exec("LOAD DATA LOCAL INFILE '$file' INTO TABLE f FIELDS TERMINATED BY ','")]);
        unlink($file);
        $s = $db->prepare('SELECT id, v FROM f WHERE id > ? ORDER BY id LIMIT 2');
        foreach ([0, 10, 100] as $n) {
            step("execute again$how", function () use ($s, $n) { $s->execute([$n]); return results($s); });
        }
        step("multi query$how", fn () => results($db->query('SELECT 1; SELECT 2, 3; SELECT v FROM f WHERE id = 7')));
        step("transaction$how", function () use ($db) {
            $db->beginTransaction();
            $db->exec('UPDATE f SET v = NULL WHERE id < 10');
            $db->rollBack();
            return run($db, 'SELECT COUNT(*) FROM f WHERE v IS NULL');
        });
        foreach ([65536, 16777216] as $size) {
            $text = substr(str_repeat('0123456789abcdef', intdiv($size, 16) + 1), 0, $size);
            step("large $size$how", fn () => [run($db, 'SELECT ? AS v', [$text])[0]['rows'][0][0] === $text]);
        }
    }
}

if ($mode === 'features') {
    features();
} else {
    $db = connect($mode === 'text');
    foreach (json_decode(stream_get_contents(STDIN), true) as $statement) {
        $sql = array_shift($statement);
        step($sql, fn () => run($db, $sql, $statement));
    }
}
