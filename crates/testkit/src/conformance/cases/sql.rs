//! Programs in SQL: what `SQLite` and its shell owe, in WebAssembly as natively.

use crate::conformance::case::{Case, Ending, Error, Expected, Given, NOTHING, SILENT, Text, printed, sql};

/// Ends in an error.
const fn fails(stderr: &'static str, message: &'static str, line: u32) -> Expected {
    Expected {
        ending: Ending::Exit(1),
        stderr: Text::Is(stderr),
        error: Some(Error { kind: "SQLError", message, line: Some(line) }),
        ..SILENT
    }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "sql: a table, its rows and its sums",
        given: NOTHING,
        programs: &[sql("CREATE TABLE items (name TEXT, price REAL, amount INTEGER);\n\
            INSERT INTO items VALUES ('tea', 3.2, 2), ('cake', 4.5, 1), ('jam', 2.75, NULL);\n\
            SELECT * FROM items ORDER BY price DESC;\n\
            SELECT count(*) AS lines, sum(price * amount) AS total, avg(price) AS mean, max(name) FROM items;\n")],
        expected: printed(
            "name  price  amount\n\
            ----  -----  ------\n\
            cake  4.5    1     \n\
            tea   3.2    2     \n\
            jam   2.75         \n\
            lines  total  mean              max(name)\n\
            -----  -----  ----------------  ---------\n\
            3      10.9   3.48333333333333  tea      \n",
        ),
    },
    Case {
        name: "sql: joins",
        given: NOTHING,
        programs: &[sql("CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT);\n\
            CREATE TABLE books (title TEXT, author INTEGER REFERENCES authors);\n\
            INSERT INTO authors(name) VALUES ('Lem'), ('Le Guin'), ('Nobody');\n\
            INSERT INTO books VALUES ('Solaris', 1), ('Fiasco', 1), ('The Dispossessed', 2);\n\
            SELECT a.name, b.title FROM authors a LEFT JOIN books b ON b.author = a.id ORDER BY 1, 2;\n\
            SELECT name, count(title) AS books FROM authors LEFT JOIN books ON author = id GROUP BY id HAVING books > 0;\n")],
        expected: printed(
            "name     title           \n\
            -------  ----------------\n\
            Le Guin  The Dispossessed\n\
            Lem      Fiasco          \n\
            Lem      Solaris         \n\
            Nobody                   \n\
            name     books\n\
            -------  -----\n\
            Lem      2    \n\
            Le Guin  1    \n",
        ),
    },
    Case {
        name: "sql: windows",
        given: NOTHING,
        programs: &[sql("WITH sales(day, amount) AS (VALUES (1, 10), (2, 30), (3, 20), (4, 30))\n\
            SELECT day, amount, sum(amount) OVER (ORDER BY day) AS running, rank() OVER (ORDER BY amount DESC) AS place,\n\
            \x20 lag(amount, 1, 0) OVER (ORDER BY day) AS before FROM sales ORDER BY day;\n")],
        expected: printed(
            "day  amount  running  place  before\n\
            ---  ------  -------  -----  ------\n\
            1    10      10       4      0     \n\
            2    30      40       1      10    \n\
            3    20      60       3      30    \n\
            4    30      90       1      20    \n",
        ),
    },
    Case {
        name: "sql: recursion",
        given: NOTHING,
        programs: &[sql(
            "WITH RECURSIVE fib(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib WHERE n < 10)\n\
            SELECT group_concat(a, ' ') AS numbers FROM fib;\n",
        )],
        expected: printed(
            "numbers               \n\
            ----------------------\n\
            0 1 1 2 3 5 8 13 21 34\n",
        ),
    },
    Case {
        name: "sql: JSON",
        given: NOTHING,
        programs: &[sql(
            "SELECT json_extract('{\"a\": [1, {\"b\": \"x\"}]}', '$.a[1].b') AS b, json_array_length('[1,2,3]') AS n, '{\"k\": 5}' ->> 'k' AS k;\n\
            SELECT key, value, type FROM json_each('{\"one\": 1, \"two\": [2], \"three\": null}');\n\
            SELECT json_group_array(value * 2) AS doubled FROM json_each('[1, 2, 3]');\n",
        )],
        expected: printed(
            "b  n  k\n\
            -  -  -\n\
            x  3  5\n\
            key    value  type   \n\
            -----  -----  -------\n\
            one    1      integer\n\
            two    [2]    array  \n\
            three         null   \n\
            doubled\n\
            -------\n\
            [2,4,6]\n",
        ),
    },
    Case {
        name: "sql: text and patterns",
        given: NOTHING,
        programs: &[sql(
            "SELECT upper('straße') AS upper, length('aü漢🎉') AS length, substr('héllo', 2, 3) AS part, replace('a-b-c', '-', '+') AS replaced,\n\
            \x20 trim('  x ') || '|' AS trimmed, instr('hello', 'l') AS place, printf('%05.1f|%-4s|%x', 3.14159, 'ab', 255) AS printed;\n\
            SELECT 'Abc' LIKE 'a%' AS like_it, 'Abc' GLOB 'a*' AS glob_it, 'a1b2' REGEXP '^[a-z0-9]+$' AS matches, hex('hi') AS hex, quote('it''s') AS quoted;\n",
        )],
        expected: printed(
            "upper   length  part  replaced  trimmed  place  printed      \n\
            ------  ------  ----  --------  -------  -----  -------------\n\
            STRAßE  4       éll   a+b+c     x|       3      003.1|ab  |ff\n\
            like_it  glob_it  matches  hex   quoted \n\
            -------  -------  -------  ----  -------\n\
            1        0        1        6869  'it''s'\n",
        ),
    },
    Case {
        name: "sql: numbers",
        given: NOTHING,
        programs: &[sql(
            "SELECT 7 / 2 AS whole, 7 / 2.0 AS part, 7 % 3 AS rest, 1 << 40 AS shifted, 9223372036854775807 AS largest, round(2.567, 2) AS rounded, abs(-3) AS abs;\n\
            SELECT 1e100 AS big, 0.1 + 0.2 AS sum, typeof(1), typeof(1.0), typeof('1'), typeof(NULL), typeof(x'00');\n\
            SELECT sqrt(2) AS root, pi() AS pi, ceil(1.2) AS up, floor(-1.2) AS down, log10(1000) AS log, pow(2, 10) AS power;\n",
        )],
        expected: printed(
            "whole  part  rest  shifted        largest              rounded  abs\n\
            -----  ----  ----  -------------  -------------------  -------  ---\n\
            3      3.5   1     1099511627776  9223372036854775807  2.57     3  \n\
            big       sum  typeof(1)  typeof(1.0)  typeof('1')  typeof(NULL)  typeof(x'00')\n\
            --------  ---  ---------  -----------  -----------  ------------  -------------\n\
            1.0e+100  0.3  integer    real         text         null          blob         \n\
            root             pi                up   down  log  power \n\
            ---------------  ----------------  ---  ----  ---  ------\n\
            1.4142135623731  3.14159265358979  2.0  -2.0  3.0  1024.0\n",
        ),
    },
    Case {
        name: "sql: dates",
        given: NOTHING,
        programs: &[sql(
            "SELECT date('2024-02-28', '+2 days') AS leap, strftime('%Y/%m/%d %H:%M:%S', 86400, 'unixepoch') AS second_day, julianday('2000-01-01') AS julian;\n\
            SELECT datetime('2024-03-31 12:00', 'start of month', '-1 second') AS before, date('2024-01-31', '+1 month') AS over, unixepoch('2001-09-09 01:46:40') AS seconds;\n",
        )],
        expected: printed(
            "leap        second_day           julian   \n\
            ----------  -------------------  ---------\n\
            2024-03-01  1970/01/02 00:00:00  2451544.5\n\
            before               over        seconds   \n\
            -------------------  ----------  ----------\n\
            2024-02-29 23:59:59  2024-03-02  1000000000\n",
        ),
    },
    Case {
        name: "sql: what is missing",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(a, b);\n\
            INSERT INTO t VALUES (1, NULL), (NULL, 'x');\n\
            SELECT a, b, a IS NULL AS none, coalesce(b, 'nothing') AS filled, nullif(a, 1) AS nulled, ifnull(a, -1) AS other FROM t;\n\
            SELECT count(a), count(*), NULL = NULL AS compared FROM t;\n\
            .nullvalue (null)\n\
            SELECT a, b FROM t;\n")],
        expected: printed(
            "a  b  none  filled   nulled  other\n\
            -  -  ----  -------  ------  -----\n\
            1     0     nothing          1    \n\
            \x20  x  1     x                -1   \n\
            count(a)  count(*)  compared\n\
            --------  --------  --------\n\
            1         2                 \n\
            a       b     \n\
            ------  ------\n\
            1       (null)\n\
            (null)  x     \n",
        ),
    },
    Case {
        name: "sql: a transaction that is taken back",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(n INTEGER CHECK (n > 0));\n\
            BEGIN;\n\
            INSERT INTO t VALUES (1), (2);\n\
            SELECT count(*) AS inside FROM t;\n\
            ROLLBACK;\n\
            SELECT count(*) AS after FROM t;\n\
            SAVEPOINT one;\n\
            INSERT INTO t VALUES (5);\n\
            ROLLBACK TO one;\n\
            RELEASE one;\n\
            INSERT OR IGNORE INTO t VALUES (-1);\n\
            SELECT count(*) AS last, changes() AS changed FROM t;\n")],
        expected: printed(
            "inside\n\
            ------\n\
            2     \n\
            after\n\
            -----\n\
            0    \n\
            last  changed\n\
            ----  -------\n\
            0     0      \n",
        ),
    },
    Case {
        name: "sql: changes that tell of their rows",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(id INTEGER PRIMARY KEY, word TEXT UNIQUE, n INTEGER DEFAULT 1);\n\
            INSERT INTO t(word) VALUES ('a'), ('b') RETURNING id, word;\n\
            INSERT INTO t(word) VALUES ('a') ON CONFLICT(word) DO UPDATE SET n = n + 1 RETURNING *;\n\
            UPDATE t SET n = 10 WHERE word = 'b' RETURNING n;\n\
            DELETE FROM t WHERE word = 'a' RETURNING word;\n\
            SELECT last_insert_rowid() AS last, total_changes() AS changes;\n")],
        expected: printed(
            "id  word\n\
            --  ----\n\
            1   a   \n\
            2   b   \n\
            id  word  n\n\
            --  ----  -\n\
            1   a     2\n\
            n \n\
            --\n\
            10\n\
            word\n\
            ----\n\
            a   \n\
            last  changes\n\
            ----  -------\n\
            2     5      \n",
        ),
    },
    Case {
        name: "sql: views, triggers, indexes",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(n);\n\
            CREATE TABLE log(what);\n\
            CREATE TRIGGER on_insert AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('new ' || new.n); END;\n\
            CREATE VIEW doubled AS SELECT n * 2 AS twice FROM t;\n\
            CREATE INDEX by_n ON t(n);\n\
            INSERT INTO t VALUES (3), (4);\n\
            SELECT * FROM doubled;\n\
            SELECT * FROM log;\n\
            EXPLAIN QUERY PLAN SELECT * FROM t WHERE n = 3;\n\
            PRAGMA table_info(t);\n")],
        expected: printed(
            "twice\n\
            -----\n\
            6    \n\
            8    \n\
            what \n\
            -----\n\
            new 3\n\
            new 4\n\
            QUERY PLAN\n\
            `--SEARCH t USING COVERING INDEX by_n (n=?)\n\
            cid  name  type  notnull  dflt_value  pk\n\
            ---  ----  ----  -------  ----------  --\n\
            0    n           0                    0 \n",
        ),
    },
    Case {
        name: "sql: full text search",
        given: NOTHING,
        programs: &[sql("CREATE VIRTUAL TABLE notes USING fts5(title, body);\n\
            INSERT INTO notes VALUES ('tea', 'a cup of green tea'), ('cake', 'cake goes with tea'), ('rain', 'nothing');\n\
            SELECT title, highlight(notes, 1, '[', ']') AS found FROM notes WHERE notes MATCH 'tea' ORDER BY title;\n\
            CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);\n\
            INSERT INTO boxes VALUES (1, 0, 5), (2, 4, 9);\n\
            SELECT id FROM boxes WHERE x1 > 4.5 AND x0 < 4.5;\n")],
        expected: printed(
            "title  found               \n\
            -----  --------------------\n\
            cake   cake goes with [tea]\n\
            tea    a cup of green [tea]\n\
            id\n\
            --\n\
            1 \n\
            2 \n",
        ),
    },
    Case {
        name: "sql: the shell's ways of printing",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(id INTEGER, name TEXT);\n\
            INSERT INTO t VALUES (1, 'one, two'), (2, NULL);\n\
            .mode list\n\
            SELECT * FROM t;\n\
            .mode csv\n\
            SELECT * FROM t;\n\
            .mode json\n\
            SELECT * FROM t;\n\
            .mode line\n\
            SELECT * FROM t;\n\
            .mode markdown\n\
            SELECT * FROM t;\n\
            .mode box\n\
            SELECT * FROM t;\n\
            .mode insert copy\n\
            SELECT * FROM t;\n\
            .mode quote\n\
            SELECT * FROM t;\n\
            .headers off\n\
            .mode tabs\n\
            SELECT * FROM t;\n\
            .separator ' / '\n\
            .mode list\n\
            .separator ' / '\n\
            SELECT * FROM t;\n")],
        expected: printed(
            "id|name\n\
            1|one, two\n\
            2|\n\
            id,name\r\n\
            1,\"one, two\"\r\n\
            2,\r\n\
            [{\"id\":1,\"name\":\"one, two\"},\n\
            {\"id\":2,\"name\":null}]\n\
            \x20  id = 1\n\
            \x20name = one, two\n\
            \n\
            \x20  id = 2\n\
            \x20name = \n\
            | id |   name   |\n\
            |----|----------|\n\
            | 1  | one, two |\n\
            | 2  |          |\n\
            ┌────┬──────────┐\n\
            │ id │   name   │\n\
            ├────┼──────────┤\n\
            │ 1  │ one, two │\n\
            │ 2  │          │\n\
            └────┴──────────┘\n\
            INSERT INTO copy(id,name) VALUES(1,'one, two');\n\
            INSERT INTO copy(id,name) VALUES(2,NULL);\n\
            'id','name'\n\
            1,'one, two'\n\
            2,NULL\n\
            1\tone, two\n\
            2\t\n\
            1 / one, two\n\
            2 / \n",
        ),
    },
    Case {
        name: "sql: the shell's ways of looking",
        given: NOTHING,
        programs: &[sql("CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n\
            CREATE TABLE pets(name TEXT);\n\
            CREATE INDEX by_name ON people(name);\n\
            CREATE VIEW everyone AS SELECT name FROM people;\n\
            .tables\n\
            .schema people\n\
            .indexes\n\
            INSERT INTO pets VALUES ('it''s Rex');\n\
            .dump pets\n\
            .print done -- and said\n")],
        expected: printed(
            "everyone  people    pets    \n\
            CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n\
            CREATE INDEX by_name ON people(name);\n\
            by_name\n\
            PRAGMA foreign_keys=OFF;\n\
            BEGIN TRANSACTION;\n\
            CREATE TABLE pets(name TEXT);\n\
            INSERT INTO pets VALUES('it''s Rex');\n\
            COMMIT;\n\
            done -- and said\n",
        ),
    },
    Case {
        name: "sql: a CSV file is imported",
        given: Given { files: &[("people.csv", "name,age\nAda,36\n\"Lovelace, B.\",29\nÜmit,107\n")], ..NOTHING },
        programs: &[sql("CREATE TABLE typed(name TEXT, age INTEGER);\n\
            .mode csv\n\
            .import --skip 1 people.csv typed\n\
            .import people.csv untyped\n\
            .mode column\n\
            .headers on\n\
            SELECT name, age + 1 AS next FROM typed WHERE age > 30 ORDER BY age;\n\
            SELECT * FROM untyped;\n")],
        expected: printed(
            "name  next\n\
            ----  ----\n\
            Ada   37  \n\
            Ümit  108 \n\
            name          age\n\
            ------------  ---\n\
            Ada           36 \n\
            Lovelace, B.  29 \n\
            Ümit          107\n",
        ),
    },
    Case {
        name: "sql: a CSV file is written",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(a, b);\n\
            INSERT INTO t VALUES (1, 'x,y'), (2, 'z');\n\
            .mode csv\n\
            .headers on\n\
            .once out.csv\n\
            SELECT * FROM t;\n\
            SELECT 'back' AS here;\n")],
        expected: Expected {
            files: &[("out.csv", 19, "text/csv")],
            ..printed(
                "here\r\n\
            back\r\n",
            )
        },
    },
    Case {
        name: "sql: a database is written and read",
        given: NOTHING,
        programs: &[sql("ATTACH 'shop.db' AS shop;\n\
            CREATE TABLE shop.items(name);\n\
            INSERT INTO shop.items VALUES ('tea');\n\
            DETACH shop;\n\
            .open shop.db\n\
            SELECT name FROM items;\n\
            .tables\n")],
        expected: Expected {
            files: &[("shop.db", 8192, "application/vnd.sqlite3")],
            ..printed(
                "name\n\
            ----\n\
            tea \n\
            items\n",
            )
        },
    },
    Case {
        name: "sql: scripts of the workspace",
        given: Given {
            files: &[(
                "more.sql",
                "INSERT INTO t VALUES (20);\nINSERT INTO t VALUES (22);\nSELECT 'from more' AS said;\n",
            )],
            ..NOTHING
        },
        programs: &[sql("CREATE TABLE t(n);\n\
            .read more.sql\n\
            SELECT sum(n) AS sum FROM t;\n")],
        expected: printed(
            "said     \n\
            ---------\n\
            from more\n\
            sum\n\
            ---\n\
            42 \n",
        ),
    },
    Case {
        name: "sql: files of the workspace in SQL",
        given: Given { files: &[("note.txt", "hello")], ..NOTHING },
        programs: &[sql("SELECT readfile('note.txt') AS note, length(readfile('note.txt')) AS bytes;\n\
            SELECT writefile('copy.txt', upper(readfile('note.txt'))) AS written;\n")],
        expected: Expected {
            files: &[("copy.txt", 5, "text/plain")],
            ..printed(
                "note   bytes\n\
            -----  -----\n\
            hello  5    \n\
            written\n\
            -------\n\
            5      \n",
            )
        },
    },
    Case {
        name: "sql: more to do, as arguments",
        given: Given { args: &["INSERT INTO t VALUES (41)", "SELECT sum(n) AS sum FROM t"], ..NOTHING },
        programs: &[sql("CREATE TABLE t(n);\n\
            INSERT INTO t VALUES (1);\n")],
        expected: printed(
            "sum\n\
            ---\n\
            42 \n",
        ),
    },
    Case {
        name: "sql: text over several lines",
        given: NOTHING,
        programs: &[sql("SELECT 'one\n\
            two' AS lines, 2 AS n;\n\
            SELECT 'semi;colon' AS text -- and a comment; here\n\
            \x20 , 'it''s' AS quote /* another; */;\n\
            \n\
            ;\n\
            SELECT \"two words\" FROM (SELECT 1 AS \"two words\");\n")],
        expected: printed(
            "lines  n\n\
            -----  -\n\
            one    2\n\
            two     \n\
            text        quote\n\
            ----------  -----\n\
            semi;colon  it's \n\
            two words\n\
            ---------\n\
            1        \n",
        ),
    },
    Case {
        name: "sql: wide tables",
        given: NOTHING,
        programs: &[sql(
            "SELECT 'a text that goes on well past the sixty characters at which some tools would begin to wrap' AS long, 'x' AS short;\n\
            SELECT 'ü☃漢字' AS unicode, 1 AS n UNION ALL SELECT 'plain', 22;\n",
        )],
        expected: printed(
            "long                                                                                        short\n\
            ------------------------------------------------------------------------------------------  -----\n\
            a text that goes on well past the sixty characters at which some tools would begin to wrap  x    \n\
            unicode  n \n\
            -------  --\n\
            ü☃漢字     1 \n\
            plain    22\n",
        ),
    },
    Case {
        name: "sql: no rows",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(a);\n\
            SELECT * FROM t;\n\
            UPDATE t SET a = 1;\n\
            SELECT 1 WHERE 0;\n")],
        expected: printed(""),
    },
    Case {
        name: "sql: a syntax error",
        given: NOTHING,
        programs: &[sql("SELECT 1 AS first;\n\
            \n\
            SELECT *\n\
            \x20 FORM t;\n\
            SELECT 'never';\n")],
        expected: Expected {
            stdout: Text::Is(
                "first\n\
            -----\n\
            1    \n",
            ),
            ..fails(
                "Parse error near line 3: near \"FORM\": syntax error\n  SELECT *   FORM t;\n             ^--- error here\n",
                "near \"FORM\": syntax error",
                3,
            )
        },
    },
    Case {
        name: "sql: a table that is not there",
        given: NOTHING,
        programs: &[sql("SELECT 'before' AS said;\n\
            SELECT * FROM nowhere;\n")],
        expected: Expected {
            stdout: Text::Is(
                "said  \n\
            ------\n\
            before\n",
            ),
            ..fails("Parse error near line 2: no such table: nowhere\n", "no such table: nowhere", 2)
        },
    },
    Case {
        name: "sql: a constraint",
        given: NOTHING,
        programs: &[sql("CREATE TABLE t(a UNIQUE);\n\
            INSERT INTO t VALUES (1);\n\
            INSERT INTO t\n\
            \x20 VALUES (1);\n")],
        expected: Expected {
            stdout: Text::Is(""),
            ..fails(
                "Runtime error near line 3: UNIQUE constraint failed: t.a (19)\n",
                "UNIQUE constraint failed: t.a",
                3,
            )
        },
    },
    Case {
        name: "sql: an error in a function",
        given: NOTHING,
        programs: &[sql("SELECT abs(-9223372036854775808);\n")],
        expected: Expected {
            stdout: Text::Is(""),
            ..fails("Runtime error near line 1: integer overflow\n", "integer overflow", 1)
        },
    },
    Case {
        name: "sql: an exit code",
        given: NOTHING,
        programs: &[sql("SELECT 1 AS one;\n\
            .exit 3\n\
            SELECT 2 AS two;\n")],
        expected: Expected {
            ending: Ending::Exit(3),
            ..printed(
                "one\n\
            ---\n\
            1  \n",
            )
        },
    },
    Case {
        name: "sql: an exit code of more than a byte",
        given: NOTHING,
        programs: &[sql(".exit 300\n")],
        expected: Expected { ending: Ending::Exit(44), ..printed("") },
    },
];
