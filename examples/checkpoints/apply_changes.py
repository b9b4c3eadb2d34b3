"""Applies `checkpoint export --since` to the earlier export, and prints the rows of a table of the later one.

    python3 apply_changes.py EARLIER.safetensors CHANGES.safetensors TABLE

Needs Python's standard library only.
"""
import array
import json
import sys

TYPES = {"U64": "Q", "F32": "f", "U32": "I"}


def load(path):
    """Returns the arrays of a safetensors file by name, and the columns of each matrix."""
    with open(path, "rb") as file:
        raw = file.read()
    data = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:data])
    facts = header.pop("__metadata__")
    places = {name: [data + at for at in info["data_offsets"]] for name, info in header.items()}
    arrays = {name: array.array(TYPES[header[name]["dtype"]], raw[a:b]) for name, (a, b) in places.items()}
    return facts, arrays, {name: info["shape"][-1] for name, info in header.items()}


def rows_of(arrays, widths, table):
    name, width = f"sparse/{table}/values", widths[f"sparse/{table}/values"]
    return {key: arrays[name][row * width : (row + 1) * width] for row, key in enumerate(arrays[f"sparse/{table}/ids"])}


if __name__ == "__main__":
    (earlier, old, widths), (changes, new, _) = load(sys.argv[1]), load(sys.argv[2])
    assert changes["since"] == earlier["headerCrc32"], "the changes are since another export"
    rows = rows_of(old, widths, sys.argv[3])
    for key in new[f"sparse/{sys.argv[3]}/gone"]:
        del rows[key]
    rows.update(rows_of(new, widths, sys.argv[3]))
    for key, row in sorted(rows.items()):
        print(key, *row)
