#!/usr/bin/env python3
"""Relays unix sockets and treats what passes as a network does: it delays it, or lets nothing through.

relay.py FOLDER NAME=LISTEN:TARGET ...
FOLDER/NAME has the state of a relay, and is read ten times a second:
  pass        everything passes; so it is without the file
  cut         nothing passes. Connections stay open and silent, new ones too, as where packets are lost
  slow MS     each piece of a client waits MS milliseconds before it goes to the target
What was held up by a cut passes after it.
"""
import os
import socket
import sys
import threading
import time

LOOK_SECONDS = 0.1
PIECE_BYTES = 65536


class Way:
    """One relay: its socket, its target and its state."""

    def __init__(self, folder, text):
        self.name, paths = text.split("=", 1)
        self.listen, self.target = paths.split(":", 1)
        self.file = os.path.join(folder, self.name)
        self.is_cut, self.delay_seconds = False, 0.0

    def look(self):
        try:
            with open(self.file, encoding="ascii") as file:
                words = file.read().split()
        except OSError:
            words = []
        self.is_cut = words[:1] == ["cut"]
        self.delay_seconds = int(words[1]) / 1000 if words[:1] == ["slow"] and len(words) > 1 else 0.0

    def wait(self):
        while self.is_cut:
            time.sleep(LOOK_SECONDS)

    def carry(self, source, target, is_request):
        """Passes bytes of one direction until an end closes."""
        try:
            while piece := source.recv(PIECE_BYTES):
                if is_request and self.delay_seconds:
                    time.sleep(self.delay_seconds)
                self.wait()
                target.sendall(piece)
        except OSError:
            pass
        self.wait()
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.listen)
        os.chmod(self.listen, 0o777)
        listener.listen(64)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        self.wait()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.target)
        except OSError:
            client.close()
            return
        back = threading.Thread(target=self.carry, args=(server, client, False), daemon=True)
        back.start()
        self.carry(client, server, True)
        back.join()
        client.close()
        server.close()


def main():
    ways = [Way(sys.argv[1], text) for text in sys.argv[2:]]
    for way in ways:
        way.look()
        threading.Thread(target=way.serve, daemon=True).start()
    while True:
        for way in ways:
            way.look()
        time.sleep(LOOK_SECONDS)


main()
