# SPDX-License-Identifier: MIT
"""As much of a FastCGI client as it takes to ask php-fpm for a script."""
import socket
import struct

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


def record(kind, body):
    return struct.pack("!BBHHBx", 1, kind, 1, len(body), 0) + body


def length(n):
    return struct.pack("!B", n) if n < 128 else struct.pack("!I", n | 1 << 31)


def receive(connection, n):
    data = b""
    while len(data) < n:
        more = connection.recv(n - len(data))
        if not more:
            raise OSError("the server closed the connection")
        data += more
    return data


def get(path, script, uri):
    """GET URI, answered by SCRIPT. Returns what came back, headers too."""
    values = {"SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "REQUEST_URI": uri, "SCRIPT_NAME": uri,
              "SERVER_PROTOCOL": "HTTP/1.1", "GATEWAY_INTERFACE": "CGI/1.1"}
    params = b"".join(length(len(key)) + length(len(value)) + key.encode() + value.encode()
                      for key, value in values.items())
    answer = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(record(BEGIN, struct.pack("!HB5x", 1, 0)) + record(PARAMS, params) + record(PARAMS, b"") +
                           record(STDIN, b""))
        while True:
            _, kind, _, size, padding = struct.unpack("!BBHHBx", receive(connection, 8))
            body = receive(connection, size)
            receive(connection, padding)
            if kind == STDOUT:
                answer += body
            elif kind == END:
                return answer.decode(errors="replace")
