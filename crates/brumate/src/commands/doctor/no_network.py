import socket

try:
    socket.create_connection(('127.0.0.1', 53), 1)
except OSError:
    pass
else:
    raise AssertionError('a connection was made')
