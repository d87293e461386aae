#!/usr/bin/env python3
"""Says one thing to an agent over the bare wire and prints the answer.

    python3 chat.py ~/.parley/parley.sock parley "Good morning"

No library: a message is a 4-byte big-endian length and that many bytes of
protobuf, and these few fields are all a chat needs.
"""
import socket
import struct
import sys


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    """A length-delimited field: a string or a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """The fields of a message, as (number, value)."""
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = read()
        kind = key & 7
        if kind == 2:
            size = read()
            yield key >> 3, data[at:at + size]
            at += size
        elif kind == 0:
            yield key >> 3, read()
        else:
            size = {1: 8, 5: 4}[kind]
            yield key >> 3, data[at:at + size]
            at += size


def chat(path, agent, text):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        turn = field(1, agent.encode()) + field(2, text.encode())
        message = field(2, turn)  # ClientMessage.stream
        s.sendall(struct.pack(">I", len(message)) + message)
        pipe = s.makefile("rb")
        while head := pipe.read(4):
            answer = dict(fields(pipe.read(struct.unpack(">I", head)[0])))
            if 1 in answer:  # error: code 1, message 2
                return dict(fields(answer[1]))[2].decode()
            event = dict(fields(answer[4]))  # ServerMessage.stream
            if 2 in event:  # chunk: content 1
                print(dict(fields(event[2]))[1].decode(), end="", flush=True)
            if 7 in event:  # end: error 2, empty when all went well
                print()
                return dict(fields(event[7])).get(2, b"").decode()
    return "the hub hung up"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: chat.py SOCKET AGENT TEXT")
    sys.exit(chat(*sys.argv[1:]) or 0)
