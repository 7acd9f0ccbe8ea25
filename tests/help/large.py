"""Writes a .pt2 file with one large weight of zeros, whose pages are holes of the file: it has any size and takes no disk."""
import json
import struct
import subprocess
import zlib

COLUMNS = 1024

TEXT = """fnz 1
program(
  %p_w: f32[{rows},1024] parameter "w",
  %i: i64[2])
{{
  %row: f32[2,1024] = embedding(%p_w, %i)
  %sum: f32[2,1024] = add.Tensor(%row, 1)
  return %sum
}}
"""


def _times(matrix, vector):
    product = 0
    for row in matrix:
        product ^= row if vector & 1 else 0
        vector >>= 1
    return product


def crc_of_zeros(count):
    """CRC-32 of `count` zero bytes: one zero bit is a linear map, and its powers are squares of squares."""
    crc, matrix = 0xffffffff, [0xedb88320] + [1 << k for k in range(31)]
    bits = 8 * count
    while bits:
        if bits & 1:
            crc = _times(matrix, crc)
        matrix = [_times(matrix, row) for row in matrix]
        bits >>= 1
    return crc ^ 0xffffffff


def _head(name, size, crc, offset):
    """The local header of a stored record whose bytes begin at a multiple of 64, and its entry in the directory."""
    wide = struct.pack("<HHQQ", 1, 16, size, size)
    bare = 30 + len(name) + len(wide) + 4
    pad = -(offset + bare) % 64
    extra = wide + struct.pack("<HH", 0x4246, pad) + b"Z" * pad
    common = struct.pack("<HHHHHIII", 45, 0x0800, 0, 0, 0, crc, 0xffffffff, 0xffffffff)
    local = b"PK\x03\x04" + common + struct.pack("<HH", len(name), len(extra)) + name + extra
    wide = struct.pack("<HHQQQ", 1, 24, size, size, offset)
    entry = b"PK\x01\x02" + struct.pack("<H", 45) + common + struct.pack("<HHHHHII", len(name), len(wide), 0, 0, 0, 0,
                                                                         0xffffffff) + name + wide
    return local, entry


def by_command(fnz):
    """The JSON of a text, by the command."""
    return lambda text: subprocess.run([fnz, "convert", "-", "--to", "json"], input=text, capture_output=True, check=True).stdout


def write(json_of, path, size):
    """`size` bytes of weights, rounded down to rows of 4096 bytes. json_of makes the JSON of a program in text."""
    rows = size // (4 * COLUMNS)
    meta = {"dtype": 7, "sizes": [{"as_int": rows}, {"as_int": COLUMNS}], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [{"as_int": COLUMNS}, {"as_int": 1}],
            "storage_offset": {"as_int": 0}, "layout": 7}
    config = {"config": {"w": {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": meta}}}
    model = json_of(TEXT.format(rows=rows).encode()).replace(b"aten.add.Tensor", b"aten.add_.Tensor")
    records = [("data/weights/weight_0", None), ("data/weights/model_weights_config.json", json.dumps(config).encode()),
               ("models/model.json", model), ("archive_format", b"pt2"), ("archive_version", b"0"),
               ("byteorder", b"little"), (".data/version", b"3\n")]
    with open(path, "wb") as file:
        entries = []
        for name, data in records:
            length = rows * COLUMNS * 4 if data is None else len(data)
            crc = crc_of_zeros(length) if data is None else zlib.crc32(data)
            local, entry = _head(f"program/{name}".encode(), length, crc, file.tell())
            file.write(local)
            entries.append(entry)
            if data is None:
                file.seek(length, 1)
            else:
                file.write(data)
        start, directory = file.tell(), b"".join(entries)
        file.write(directory)
        end = file.tell()
        file.write(b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, len(entries), len(entries), len(directory),
                                               start))
        file.write(b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1))
        file.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), 0xffffffff, 0))


def write_inputs(path):
    """Two rows of the weight."""
    head = json.dumps({"i": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}}).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + struct.pack("<qq", 3, 100))
