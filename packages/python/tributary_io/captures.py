#!/usr/bin/env python3
"""Reads a capture by the description of its format (docs/reference/capture.md), without any other code of Tributary.

    python -m tributary_io.captures FILE            a line of JSON for the header, then one for each rank and call
    python -m tributary_io.captures FILE --call N   the extents of call N in the text form of `trib replay list`

`Capture` reads one in Python. It needs NumPy for what returns arrays, and nothing for the rest. A notebook shows the page of
`trib explain` for it, if the program `trib` of the wheel is there.
"""

import html
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib


class Damaged(Exception):
    pass


def varint(data, at):
    """The integer at `at`, and where the next one is."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged("a number is cut")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def extents(tokens):
    """The (offset, length) pairs of an encoded list."""
    pairs, at = [], 0
    while at < len(tokens):
        head, at = varint(tokens, at)
        if head & 1:
            distance, at = varint(tokens, at)
            if not 0 < distance <= len(pairs):
                raise Damaged("a reference before the beginning")
            for _ in range(head >> 1):
                pairs.append(pairs[-distance])
        else:
            for _ in range(head >> 1):
                zigzag, at = varint(tokens, at)
                length, at = varint(tokens, at)
                pairs.append(((zigzag >> 1) ^ -(zigzag & 1), length))
    end, found = 0, []
    for gap, length in pairs:
        found.append((end + gap, length))
        end += gap + length
    return found


def calls(block):
    """The calls of a rank's block."""
    at, lists, start = 0, [], 0
    while at < len(block):
        tag, at = varint(block, at)
        length, at = varint(block, at)
        body, at = block[at : at + length], at + length
        if len(body) < length:
            raise Damaged("a record is cut")
        if tag == 1:
            size, begin = varint(body, 0)
            lists.append(extents(body[begin : begin + size]))
        elif tag == 2:
            numbers, here = [], 0
            for _ in range(7):
                number, here = varint(body, here)
                numbers.append(number)
            flags, file, file_start, memory, memory_start, later, took = numbers
            start += later

            def moved(number, by):
                return [(offset + by, length) for offset, length in (lists[number - 2] if number > 1 else [])]

            yield {
                "direction": "read" if flags & 1 else "write",
                "failed": bool(flags & 2),
                "file": moved(file, file_start),
                "memory": None if memory == 0 else moved(memory, memory_start),
                "start_ns": start,
                "took_ns": took,
            }


class Capture:
    """A capture: `header`, a dictionary; `recorded`, how many calls all ranks have; `outcomes`, what became of each."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        with open(path, "rb") as file:
            self.data = file.read()
        magic, version, checksum, length = struct.unpack_from("<8sIIQ", self.data)
        if magic != b"TRIBCAPT" or version != 1:
            raise Damaged("no capture of version 1")
        self.header = json.loads(self.data[24 : 24 + length])
        parts = self.header["ranks"] + 1
        if zlib.crc32(self.data[24 : 24 + length + 32 * parts]) != checksum:
            raise Damaged("checksum of header and index")
        index = [struct.unpack_from("<QQQII", self.data, 24 + length + 32 * part) for part in range(parts)]
        self.recorded = min(entry[2] for entry in index[1:])
        self.outcomes = [json.loads(line) for line in self.part(index[0]).splitlines()][: self.recorded]
        self.index = index[1:]

    def __repr__(self):
        name, ranks = self.header.get("file"), self.header["ranks"]
        return f"<Capture of {name}: {ranks} ranks, {self.recorded} calls>"

    def _repr_html_(self):
        """The page of `trib explain`, for notebooks; None if the program is not there."""
        try:
            from tributary_io import root

            with tempfile.TemporaryDirectory() as folder:
                page = os.path.join(folder, "page.html")
                subprocess.run(
                    [str(root() / "bin" / "trib"), "explain", self.path, "--html", page],
                    check=True,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                with open(page, encoding="utf-8") as file:
                    text = file.read()
        except (ImportError, OSError, subprocess.CalledProcessError):
            return None
        return f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:40em;border:0"></iframe>'

    def part(self, entry):
        """The bytes of an entry of the index."""
        offset, length, _, _, checksum = entry
        part = self.data[offset : offset + length]
        if zlib.crc32(part) != checksum:
            raise Damaged("checksum of a part")
        return part

    def rank(self, rank):
        """The calls of a rank, as dictionaries with lists of (offset, length). IndexError if there is no such rank."""
        if not 0 <= rank < len(self.index):
            raise IndexError(f"rank {rank}; allowed: 0 to {len(self.index) - 1}")
        return list(calls(self.part(self.index[rank])))[: self.recorded]

    def table(self):
        """A NumPy array with a row for each rank's part of each call: nanoseconds from the open to its start, and that it took."""
        import numpy

        rows = [
            (rank, number, call["direction"] == "read", call["failed"], call["start_ns"], call["took_ns"])
            + (len(call["file"]), sum(length for _, length in call["file"]))
            for rank in range(self.header["ranks"])
            for number, call in enumerate(self.rank(rank))
        ]
        columns = [("rank", "i8"), ("call", "i8"), ("read", "?"), ("failed", "?"), ("start_ns", "i8"), ("took_ns", "i8")]
        return numpy.array(rows, dtype=columns + [("extents", "i8"), ("bytes", "i8")])

    def extents(self, rank, call):
        """A NumPy array of a rank's part of the file in a call: rows of offset and length. IndexError if there is no such call."""
        import numpy

        if not 0 <= call < self.recorded:
            raise IndexError(f"call {call}; allowed: 0 to {self.recorded - 1}")
        return numpy.array(self.rank(rank)[call]["file"], dtype="u8").reshape(-1, 2)


def main(arguments):
    capture = Capture(arguments[0])
    ranks = range(capture.header["ranks"])
    if arguments[1:2] == ["--call"]:
        number = int(arguments[2])
        print(f"ranks {len(ranks)}")
        for rank in ranks:
            print(f"rank {rank}")
            for offset, length in capture.rank(rank)[number]["file"]:
                print(offset, length)
        return
    print(json.dumps(capture.header))
    for rank in ranks:
        for number, call in enumerate(capture.rank(rank)):
            print(json.dumps({"rank": rank, "call": number, **call}))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Damaged, OSError, IndexError, struct.error, ValueError) as problem:
        sys.exit(f"{sys.argv[1] if len(sys.argv) > 1 else 'usage: FILE [--call N]'}: {problem}")
