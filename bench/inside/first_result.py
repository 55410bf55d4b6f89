print(1 + 1, flush=True)
