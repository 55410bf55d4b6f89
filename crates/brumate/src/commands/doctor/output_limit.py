print('x' * 4096)
