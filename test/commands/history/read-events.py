"""Decodes an event file with protobuf's own decoder: one JSON array a scalar, as `time, step, tag, value`."""
import json
import struct
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto


def messages():
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")

    def message(into, name, *fields):
        one = into.add(name=name)
        for number, field, kind, label, of in fields:
            one.field.add(name=field, number=number, type=kind, label=label, type_name=of)
        return one

    one, many = FIELD.LABEL_OPTIONAL, FIELD.LABEL_REPEATED
    value = (1, "tag", FIELD.TYPE_STRING, one, None), (2, "simple_value", FIELD.TYPE_FLOAT, one, None)
    summary = message(file.message_type, "Summary", (1, "value", FIELD.TYPE_MESSAGE, many, ".t.Summary.Value"))
    message(summary.nested_type, "Value", *value)
    message(
        file.message_type,
        "Event",
        (1, "wall_time", FIELD.TYPE_DOUBLE, one, None),
        (2, "step", FIELD.TYPE_INT64, one, None),
        (3, "file_version", FIELD.TYPE_STRING, one, None),
        (5, "summary", FIELD.TYPE_MESSAGE, one, ".t.Summary"),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("t.Event")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


Event = messages()
data = open(sys.argv[1], "rb").read()
at = 0
while at < len(data):
    (length, crc) = struct.unpack_from("<QI", data, at)
    assert crc == masked_crc(data[at : at + 8]), "CRC of a length"
    body = data[at + 12 : at + 12 + length]
    assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_crc(body), "CRC of an event"
    event = Event.FromString(body)
    if at == 0:
        print(json.dumps([event.wall_time, event.file_version]))
    for value in event.summary.value:
        print(json.dumps([event.wall_time, event.step, value.tag, value.simple_value]))
    at += 12 + length + 4
