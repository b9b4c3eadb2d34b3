"""Reads an .npz file with the standard library only (zipfile, struct, ast), from the formats' public descriptions.

Prints JSON: for each array its dtype, shape and elements (floats as their bits), and the JSON member.
"""
import array
import ast
import json
import struct
import sys
import zipfile

CODES = {"<u8": "Q", "<f4": "I", "<u4": "I"}
arrays = {}
with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None, "a member is damaged"
    about = json.loads(archive.read("paddlet.json"))
    for name in archive.namelist():
        if not name.endswith(".npy"):
            continue
        raw = archive.read(name)
        assert raw[:8] == b"\x93NUMPY\x01\x00", name
        (length,) = struct.unpack("<H", raw[8:10])
        assert (10 + length) % 64 == 0, "data are not aligned"
        head = ast.literal_eval(raw[10 : 10 + length].decode("latin1"))
        assert head["fortran_order"] is False
        elements = array.array(CODES[head["descr"]], raw[10 + length :])
        count = 1
        for size in head["shape"]:
            count *= size
        assert count == len(elements), "shape and size differ in " + name
        arrays[name[:-4]] = {
            "dtype": head["descr"],
            "shape": list(head["shape"]),
            "data": [str(one) for one in elements],
        }
json.dump({"metadata": about, "tensors": arrays}, sys.stdout)
