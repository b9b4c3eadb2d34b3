"""Prints the rows of a table from a checkpoint file, a base or a delta. Needs Python's standard library only.

    python3 read_rows.py CHECKPOINTS/0/NAME TABLE

The files that a delta builds on must be in the same folder. Format: docs/checkpoint-format.md.
"""
import array
import json
import os
import sys

TYPES = {"U64": "Q", "F32": "f", "U32": "I", "U8": "B"}


def load(path, table):
    """Returns for each shard its position and its rows by id, as lists of values."""
    with open(path, "rb") as file:
        raw = file.read()
    data = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:data])
    facts = header["__metadata__"]

    def tensor(name):
        if name not in header:
            return array.array("Q")
        begin, end = header[name]["data_offsets"]
        return array.array(TYPES[header[name]["dtype"]], raw[data + begin : data + end])

    parents = json.loads(facts.get("parents", "[]"))
    files = [load(os.path.join(os.path.dirname(path), name), table) for name in parents]
    width = next(one["width"] for one in json.loads(facts["parameters"])["sparse"] if one["name"] == table)
    shards = {}
    for extent in range(int(facts["extents"])):
        positions, links = tensor(f"paddlet/shards.{extent}"), tensor(f"paddlet/parents.{extent}")
        values = tensor(f"sparse/{table}/values.{extent}")
        starts = {kind: tensor(f"{kind}/{table}/rows.{extent}") for kind in ("sparse", "candidates", "gone")}
        ids = {kind: tensor(f"{kind}/{table}/ids.{extent}") for kind in starts}
        for place in range(len(positions) // 4):
            shard, _, seq, _ = positions[4 * place : 4 * place + 4]
            rows = {}
            if links and links[2 * place] > 0:
                before, rows = files[links[2 * place] - 1][shard]
                assert before == links[2 * place + 1], f"shard {shard} builds on another update"
                for kind in ("candidates", "gone"):
                    begin, end = starts[kind][place : place + 2] or (0, 0)
                    for gone in ids[kind][begin:end]:
                        rows.pop(gone, None)
            begin, end = starts["sparse"][place : place + 2] or (0, 0)
            for row in range(begin, end):
                rows[ids["sparse"][row]] = values[row * width : (row + 1) * width].tolist()
            shards[shard] = (seq, rows)
    return shards


if __name__ == "__main__":
    every = [row for _, rows in load(sys.argv[1], sys.argv[2]).values() for row in rows.items()]
    for key, row in sorted(every):
        print(key, *row)
