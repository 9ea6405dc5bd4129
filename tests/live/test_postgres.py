# SPDX-License-Identifier: MIT
"""PostgreSQL as Debian ships it: markers with semaphores, backends that are forked, errors that longjmp."""
import time

from harness import Attached, LiveTest
from postgres import Postgres


class PostgresTest(LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Postgres()
        connection = cls.server.connect()
        assert connection.query("create table t (id serial primary key, v int)")
        connection.close()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_500_statements(self):
        """The workload whose counts were found by three other observers: 500 Query messages, 13 of them fail."""
        tracer = Attached(self.server.pid)
        connection = self.server.connect()
        good = bad = 0
        for i in range(30):
            for text in ("begin", f"insert into t (v) values ({i})", "commit" if i < 25 else "rollback"):
                good += connection.query(text)
        for i in range(397):
            good += connection.query(f"select {i}")
        for _ in range(10):
            bad += not connection.query("select 1 / 0")
        for _ in range(3):
            bad += not connection.query("selec 1")
        pid = connection.pid
        connection.wait_closed()
        time.sleep(0.2)
        t = tracer.stop()
        self.assertEqual((good, bad), (487, 13))

        rows = [row for row in t.json["paths"] if row["pid"] == pid]
        count = lambda key, name: sum(row[key] for row in rows if row["path"][-1] == "postgresql:" + name)
        self.assertEqual(count("count", "query") + count("open", "query"), 500)
        self.assertEqual(count("abandoned", "query") + count("open", "query"), 13)
        self.assertEqual(count("count", "query__parse") + count("open", "query__parse"), 500)
        self.assertEqual(count("abandoned", "query__parse") + count("open", "query__parse"), 3)
        self.assertEqual(count("count", "query__rewrite"), 497)
        self.assertEqual(count("count", "query__plan"), 437)
        self.assertEqual(count("abandoned", "query__plan"), 10)
        self.assertEqual(count("count", "query__execute"), 517)
        self.assertEqual(count("abandoned", "query__execute"), 0)
        nested = [row for row in rows
                  if row["path"][-2:] == ["postgresql:query__execute", "postgresql:query__execute"]]
        self.assertEqual(sum(row["count"] for row in nested), 30)
        self.assertEqual(t.losses["ring_full"], 0)

    def test_backend_that_was_there_before(self):
        connection = self.server.connect()
        connection.query("select 1")
        tracer = Attached(self.server.pid)
        for i in range(50):
            connection.query(f"select {i}")
        connection.close()
        t = tracer.stop()
        rows = [row for row in t.json["paths"] if row["pid"] == connection.pid]
        self.assertEqual(sum(row["count"] for row in rows if row["path"] == ["postgresql:query"]), 50)
