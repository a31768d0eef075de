"""Reports that the preload library prints with TRIB_REPORT=json, one line a file, among whatever else is printed."""

import json

MARK = "tributary: {"


def parse(text):
    """The reports in a text, in their order, as dictionaries. What is no report is passed over."""
    reports = []
    for line in text.splitlines():
        # Some launchers write the rank before what it printed.
        start = line.find(MARK)
        if start >= 0:
            reports.append(json.loads(line[start + len(MARK) - 1 :]))
    return reports


def read(path):
    """The reports in a file, such as a job's standard error."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse(file.read())


def table(reports):
    """A NumPy array with a row for each file and function that was called: `file` is the number of the report, `calls` and
    `bytes` are what the engine ran, `passed` the calls that MPI ran: of independent ones those of all ranks."""
    import numpy

    rows = []
    for number, report in enumerate(reports):
        functions = {call: [ran["calls"], ran["bytes"], 0] for call, ran in report["accelerated"].items()}
        for left in report["passed_through"]:
            functions.setdefault(left["call"], [0, 0, 0])[2] += left["calls"]
        rows += [(number, call, *counts) for call, counts in functions.items()]
    columns = [("file", "i8"), ("function", "U32"), ("calls", "i8"), ("bytes", "i8"), ("passed", "i8")]
    return numpy.array(rows, dtype=columns)
