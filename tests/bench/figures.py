# SPDX-License-Identifier: MIT
"""What the parts of `make bench` share: the least of several runs, and the table that is printed."""
import platform


class BenchError(Exception):
    pass


class Least:
    """The least of what was measured, by name."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values[name] = min(value, self.values.get(name, value))

    def get(self, *name):
        return self.values.get(name)


class Table:
    """Prints as it goes, and keeps the rows that have a budget: a bound of the row's last number, an upper one but for
    times() and rate()."""

    def __init__(self):
        self.over = 0
        self.heading = self.beside = ""
        self.judged = []

    def head(self, *columns):
        self.heading = columns[0].removesuffix(", min")
        self.beside = columns[2] if len(columns) > 2 else ""
        print()
        self._print(*columns, *[""] * (6 - len(columns)))

    def _print(self, work, value, beside, ratio, budget, verdict):
        if budget and verdict:
            beside_what = f"{beside}, {self.beside}" if beside and self.beside else beside
            self.judged.append((f"{self.heading}: {work.strip()}", value, beside_what, ratio, budget, verdict))
        print(f"{work:<40} {value:>10} {beside:>10} {ratio:>8} {budget:>8}  {verdict}".rstrip(), flush=True)

    def _row(self, work, value, beside, ratio, judged, budget, budget_text):
        verdict = ""
        if budget is not None:
            verdict = "met" if judged <= budget else "OVER"
            self.over += judged > budget
        self._print(work, value, beside, ratio, budget_text, verdict)

    def ratio(self, work, value, beside, budget=None):
        if value is None or beside is None:
            return
        ratio = round(value / beside, 2)  # what is judged is what is shown
        self._row(work, f"{value:.0f} ns", f"{beside:.0f} ns", f"{ratio:.2f}", ratio, budget,
                  "" if budget is None else f"<= {budget:.2f}")

    def times(self, work, rate, beside=None, budget=None, note=""):
        """How many times as fast as another; the budget is a lower bound."""
        times, verdict = None, ""
        if beside is not None:
            times = round(rate / beside, 1)
        if budget is not None:
            verdict = "met" if times >= budget else "OVER"
            self.over += times < budget
        self._print(work, f"{rate / 1e6:.1f} M", "" if beside is None else f"{beside / 1e6:.1f} M",
                    "" if times is None else f"{times:.1f}", "" if budget is None else f">= {budget:g}",
                    f"{verdict:<5} {note}".strip() if beside is not None else "")

    def value(self, work, value, unit, budget=None, beside=None, digits=2):
        self._row(work, f"{value:.{digits}f} {unit}",
                  "" if beside is None else f"{beside:.{digits}f} {unit}", "", round(value, digits), budget,
                  "" if budget is None else f"<= {budget:g}")

    def rate(self, work, rate, unit, budget=None):
        """Millions of UNIT; the budget is a lower bound."""
        text = f"{rate / 1e6:.1f} M {unit}"
        self._row(work, text, "", "", -rate / 1e6, None if budget is None else -budget,
                  "" if budget is None else f">= {budget:g} M")

    def markdown(self):
        """The rows that have a budget, for the README."""
        lines = ["| | spantrace | beside | ratio | budget | |", "|---|---:|---:|---:|---:|---|"]
        lines += [f"| {' | '.join((*row[:-1], row[-1].split()[0].replace('OVER', '**over**')))} |" for row in self.judged]
        return "\n".join(lines)


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
