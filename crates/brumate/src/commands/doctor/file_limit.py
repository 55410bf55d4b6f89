try:
    with open('/tmp/full', 'wb') as file:
        file.write(bytes(2 << 20))
except OSError:
    pass
else:
    raise AssertionError('there was more room than the limit')
