# SPDX-License-Identifier: MIT
"""Names of any bytes in every format: separators, quotes, markup, control characters, invalid UTF-8, nothing at all, 10,000
characters. Each file is read by a strict reader of its format, holds every name as that format can tell it, and nothing
that runs. The names are those of tests/programs/spans_odd.c; what browsers and viewers make of such names is for
test_browser.sh, test_viewers.py, test_pprof.py and test_otlp.py.
"""
import base64
import collections
import gzip
import hashlib
import html.parser
import json
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from harness import LiveTest, program, run
from test_otlp import every, fields, of_json, of_protobuf, only

ODD = [
    b"a;b::c",
    b'"quoted" and \\back\\slashed',
    b"<script>alert(1)</script>&amp;",
    b"two\nlines\r\ttab \x01 \x1b[31mred\x7f",
    b"bad \xff\xc3( \x80 \xed\xa0\x80 \xf0\x9f",
    b"\303\274n\303\257code \360\237\230\200 \342\200\256 rtl \342\200\250 line",
    b"",
    b"null",
    b'{"name":1}],',
    b"x" * 10000,
]
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]")
SVG = "{http://www.w3.org/2000/svg}"
TITLE = 1024  # code points of a name in a tooltip


def text(name):
    """Each byte that begins no valid sequence becomes U+FFFD."""
    out = ""
    while name:
        for length in range(1, 5):
            try:
                out += name[:length].decode()
                name = name[length:]
                break
            except UnicodeDecodeError:
                pass
        else:
            out += "\ufffd"
            name = name[1:]
    return out


def safe(name):
    """What can stand on one line of a terminal, or in XML."""
    return UNSAFE.sub(lambda match: " " if match.group() in "\t\n\v\f\r\x85\u2028\u2029" else "\ufffd", text(name))


def both(name, between=":"):
    """The label: the provider is called like the span."""
    return name + between + name


EXACT = {both(text(name)) for name in ODD}
SAFE = {both(safe(name), "::") for name in ODD}


class Page(html.parser.HTMLParser):
    """The elements of a page: their names, attributes, and the text of scripts."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.within = [], [], False
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.within = tag == "script"
        if self.within:
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_endtag(self, tag):
        self.within = False

    def handle_data(self, data):
        if self.within:
            kind, script = self.scripts[-1]
            self.scripts[-1] = (kind, script + data)


class OddNames(LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.recording = os.path.join(cls.folder.name, "odd.spans")
        subprocess.run([program("spans_odd"), cls.recording], check=True)

    def export(self, form, source=None, chosen=()):
        """The bytes of what the recording, or what is CHOSEN of it, becomes in FORM, a format with its options."""
        path = os.path.join(self.folder.name, "out." + form.split(",")[0])
        done = run("export", "-q", source or self.recording, *chosen, "-o", f"{form}:{path}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(path, "rb") as file:
            return file.read()

    def assert_holds(self, names, wanted):
        self.assertEqual(wanted - set(names), set())

    def json_paths(self, source=None):
        return {path["path"][-1] for path in json.loads(self.export("json", source).decode())["paths"]}

    def test_every_format_is_here(self):
        listed = run("help", "export").stdout.split("formats of -o")[1].split("\n\n")[0]
        formats = {line.split()[0] for line in listed.splitlines()[1:]}
        tested = {"summary", "json", "folded", "flamegraph", "flamechart", "html", "chrome", "perfetto", "recording",
                  "mm_profdata", "pprof", "otlp"}
        self.assertEqual(formats, tested)

    def test_json(self):
        self.assert_holds(self.json_paths(), EXACT)

    def test_recording(self):
        """Written again, it holds the same."""
        again = os.path.join(self.folder.name, "again.spans")
        with open(again, "wb") as file:
            file.write(self.export("recording"))
        self.assertEqual(self.export("json", again), self.export("json"))

    def test_mm_profdata(self):
        """Read back; measureme's strings are UTF-8, in which its own marks cannot stand."""
        copy = os.path.join(self.folder.name, "copy.mm_profdata")
        with open(copy, "wb") as file:
            file.write(self.export("mm_profdata"))
        without = {both(re.sub("[\x01\x1b\x7f]", "\ufffd", text(name))) for name in ODD if name}
        self.assert_holds(self.json_paths(copy), without)

    def test_summary(self):
        lines = self.export("summary").decode().split("\n")
        for line in lines:
            self.assertIsNone(UNSAFE.search(line), line)
        for label in (both(safe(name)) for name in ODD):
            wanted = label[:190] if len(label) > 190 else label + " "
            self.assertTrue(any(line.strip().startswith(wanted) for line in lines), label)

    def test_folded(self):
        """A line a stack, its frames and one number; what separates them is in no name."""
        labels = set()
        for line in self.export("folded").decode().removesuffix("\n").split("\n"):
            self.assertIsNone(UNSAFE.search(line), line)
            self.assertRegex(line, r"^.+ \d+$")
            frames = line.rsplit(" ", 1)[0].split(";")
            self.assertLess(len(frames), 5)
            labels |= set(frames[1:])
        self.assert_holds(labels, {label.replace(";", ":") for label in SAFE})

    def check_svg(self, form):
        """Of those spans alone, so that each is wide enough to be drawn."""
        tree = ElementTree.fromstring(self.export(form, chosen=("-t", "700", "--to", "2us")))
        elements = collections.Counter(element.tag.removeprefix(SVG) for element in tree.iter())
        self.assertEqual(elements["script"], 1)
        self.assertEqual(set(elements), {"svg", "style", "script", "g", "title", "desc", "rect", "text", "line"} &
                         set(elements))
        for element in tree.iter():
            for key in element.attrib:
                self.assertFalse(key.lower().startswith("on") or "href" in key.lower(), key)
        titles = {title.text.split("\n")[0] for title in tree.iter(SVG + "title") if title.text}
        self.assert_holds(titles, {label if len(label) <= TITLE else label[:TITLE] + "…" for label in SAFE})

    def test_flamegraph(self):
        self.check_svg("flamegraph,empty_samples=0")

    def test_flamechart(self):
        self.check_svg("flamechart")

    def test_html(self):
        source = self.export("html").decode()
        page = Page(source)
        self.assertEqual([attrs for tag, attrs in page.elements if tag != "meta" and
                          any(key.startswith("on") or key in ("src", "href") for key in attrs)], [])
        policy = next(attrs["content"] for tag, attrs in page.elements if attrs.get("http-equiv"))
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        own = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
               for kind, script in page.scripts if kind is None}
        self.assertEqual(own, set(re.findall("'sha256-([^']*)'", policy.split("script-src")[1])))
        self.assertEqual([kind for kind, _ in page.scripts if kind], ["application/json", "text/plain"])
        totals = json.loads(page.scripts[0][1])
        self.assert_holds(totals["spans"]["name"], {both(safe(name)) for name in ODD})

    def test_chrome(self):
        records = json.loads(self.export("chrome").decode())
        self.assert_holds({record["name"] for record in records if record["ph"] == "X"}, EXACT)
        self.assert_holds({record["args"].get("text") for record in records if "args" in record}, set(map(text, ODD)))

    def test_perfetto(self):
        """The interned names; each packet is walked through to its end."""
        names, categories = set(), set()
        for packet in every(fields(self.export("perfetto")), 1):
            for interned in every(fields(packet), 12):
                told = fields(interned)
                names |= {only(fields(entry), 2).decode() for entry in every(told, 2)}
                categories |= {only(fields(entry), 2).decode() for entry in every(told, 1)}
        self.assert_holds(names, EXACT)
        self.assert_holds(categories, set(map(text, ODD)))

    def test_pprof(self):
        profile = fields(gzip.decompress(self.export("pprof")))
        strings = [string.decode() for string in every(profile, 6)]
        self.assertEqual(strings[0], "")
        functions = {strings[only(fields(function), 2)] for function in every(profile, 5)}
        self.assert_holds(functions, {both(safe(name)) for name in ODD})

    def test_otlp(self):
        """The same spans in both encodings."""
        protobuf = list(of_protobuf(self.export("otlp,encoding=protobuf")))
        self.assertEqual(list(of_json(self.export("otlp,encoding=json").decode())), protobuf)
        self.assert_holds({span["name"] for span in protobuf}, EXACT)
        self.assert_holds({span["attributes"].get("text") for span in protobuf}, set(map(text, ODD)))


if __name__ == "__main__":
    unittest.main()
