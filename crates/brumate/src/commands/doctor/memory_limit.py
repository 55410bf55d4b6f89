try:
    bytearray(512 << 20)
except MemoryError:
    pass
else:
    raise AssertionError('there was more memory than the limit')
