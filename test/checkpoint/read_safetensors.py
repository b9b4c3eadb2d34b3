"""Reads a safetensors file with the standard library only, from the format's public description.

Prints JSON: the metadata, and for each tensor its dtype, shape and elements (floats as their bits).
"""
import array
import json
import struct
import sys

CODES = {"U64": "Q", "F32": "I", "U32": "I", "U8": "B"}

with open(sys.argv[1], "rb") as file:
    raw = file.read()
(length,) = struct.unpack("<Q", raw[:8])
assert length % 8 == 0, "the data are not aligned"


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), "a name is there twice"
    return dict(pairs)


header = json.loads(raw[8 : 8 + length].decode("utf-8"), object_pairs_hook=no_duplicates)
data = raw[8 + length :]
metadata = header.pop("__metadata__")
assert all(isinstance(value, str) for value in metadata.values())

tensors = {}
covered = 0
for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, end = info["data_offsets"]
    assert begin == covered, "a hole or an overlap before " + name
    covered = end
    elements = array.array(CODES[info["dtype"]], data[begin:end])
    assert begin % elements.itemsize == 0, "elements are not aligned in " + name
    if sys.byteorder == "big":
        elements.byteswap()
    count = 1
    for size in info["shape"]:
        count *= size
    assert count == len(elements), "shape and size differ in " + name
    # Decimal strings: 64-bit ids are more than other readers' numbers hold.
    tensors[name] = {"dtype": info["dtype"], "shape": info["shape"], "data": [str(one) for one in elements]}
assert covered == len(data), "the file goes on after its tensors"
json.dump({"metadata": metadata, "tensors": tensors}, sys.stdout)
