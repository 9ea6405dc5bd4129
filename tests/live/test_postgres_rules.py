# SPDX-License-Identifier: MIT
"""PostgreSQL by the built-in rules: statements by their text, transactions, lock waits, both protocols."""
import time

from harness import Attached, LiveTest
from postgres import Postgres


class PostgresRules(LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Postgres()
        connection = cls.server.connect()
        assert connection.query("create table t (id serial primary key, v int)")
        assert connection.query("insert into t (v) values (1)")
        connection.close()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def traced(self, work, *options):
        """The rows of the backend that WORK is given a connection of, and the trace."""
        tracer = Attached(self.server.pid, options=options)
        connection = self.server.connect()
        work(connection)
        connection.wait_closed()
        time.sleep(0.2)
        t = tracer.stop()
        self.assertEqual(t.losses["ring_full"], 0)
        return [row for row in t.json["paths"] if row["pid"] == connection.pid], t

    def sums(self, rows, name, *keys):
        return sum(row[key] for row in rows for key in keys if row["path"][-1] == "postgresql:" + name)

    def by_query(self, rows, name):
        got = {}
        for row in rows:
            if row["path"][-1] == "postgresql:" + name:
                text = row["labels"].get("query")
                got[text] = got.get(text, 0) + row["count"] + row["open"]
        return got

    def test_statements_by_text_and_transactions(self):
        def work(connection):
            for i in range(30):
                self.assertTrue(connection.query("begin"))
                self.assertTrue(connection.query(f"insert into t (v) values ({i % 2})"))
                self.assertTrue(connection.query("commit" if i < 25 else "rollback"))
            for i in range(397):
                self.assertTrue(connection.query(f"select {i % 4}"))
            for _ in range(10):
                self.assertFalse(connection.query("select 1 / 0"))
            for _ in range(3):
                self.assertFalse(connection.query("selec 1"))

        rows, t = self.traced(work, "--by", "query")
        expected = {"begin": 30, "commit": 25, "rollback": 5, "select 1 / 0": 10, "selec 1": 3,
                    "insert into t (v) values (0)": 15, "insert into t (v) values (1)": 15,
                    "select 0": 100, "select 1": 99, "select 2": 99, "select 3": 99}
        self.assertEqual(self.by_query(rows, "query"), expected)
        self.assertEqual(self.by_query(rows, "query__parse"), expected)
        del expected["selec 1"]
        self.assertEqual(self.by_query(rows, "query__rewrite"), expected)
        # One for each statement outside a block, one for each block, one for the connection itself.
        self.assertEqual(self.sums(rows, "transaction", "count"), 441)
        self.assertEqual(self.sums(rows, "transaction", "open", "abandoned"), 0)
        self.assertEqual(t.losses["id_reused"], 0)
        self.assertEqual(t.losses["unreadable_argument"], 0)

    def test_text_is_cut(self):
        text = "select 1 -- " + "x" * 1000
        rows, _ = self.traced(lambda connection: connection.query(text), "--by", "query")
        self.assertEqual(self.by_query(rows, "query"), {text[:255]: 1})

    def test_several_statements_in_a_message(self):
        rows, _ = self.traced(lambda connection: connection.query("select 1; select 2; select 3"))
        self.assertEqual([self.sums(rows, name, "count") for name in
                          ("query", "query__parse", "query__rewrite", "query__plan", "query__execute")],
                         [1, 1, 3, 3, 3])

    def test_extended_protocol(self):
        def work(connection):
            for i in range(50):
                self.assertTrue(connection.extended(f"select {i % 2}"))

        rows, _ = self.traced(work, "--by", "query")
        self.assertEqual(self.by_query(rows, "query__parse"), {"select 0": 25, "select 1": 25})
        self.assertEqual([self.sums(rows, name, "count", "open") for name in
                          ("query", "query__rewrite", "query__plan", "query__execute")], [0, 50, 50, 50])

    def test_function_plans_inside_execute(self):
        def work(connection):
            self.assertTrue(connection.query("create function f() returns int language plpgsql as "
                                             "'begin return (select count(*) from t); end'"))
            for _ in range(5):
                self.assertTrue(connection.query("select f()"))

        rows, _ = self.traced(work)
        inside = [row for row in rows if row["path"][-1] == "postgresql:query__plan" and
                  "postgresql:query__execute" in row["path"]]
        self.assertGreaterEqual(sum(row["count"] for row in inside), 1)

    def test_lock_waits(self):
        holder = self.server.connect()

        def wait(connection):
            holder.query("begin")
            holder.query("update t set v = 2 where id = 1")
            connection.send("update t set v = 3 where id = 1")
            time.sleep(0.4)
            holder.query("commit")
            self.assertTrue(connection.ready())

        def give_up(connection):
            connection.query("set lock_timeout = '50ms'")
            holder.query("begin")
            holder.query("update t set v = 2 where id = 1")
            self.assertFalse(connection.query("update t set v = 3 where id = 1"))
            holder.query("commit")
            self.assertTrue(connection.query("select 1"))

        rows, _ = self.traced(wait, "--by", "mode", "--by", "locktype")
        waits = [row for row in rows if row["path"][-1] == "postgresql:lock__wait"]
        self.assertEqual(sum(row["count"] for row in waits), 1)
        self.assertGreater(waits[0]["wall_ns"], 200e6)
        # A transaction's lock, taken shared: how a row lock is waited for.
        self.assertEqual(waits[0]["labels"], {"locktype": 5, "mode": 5})
        rows, _ = self.traced(give_up)
        self.assertEqual(self.sums(rows, "lock__wait", "abandoned", "open"), 1)
        self.assertEqual(self.sums(rows, "query", "abandoned"), 1)
        holder.close()
