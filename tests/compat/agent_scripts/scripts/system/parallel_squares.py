import multiprocessing as mp
import os
from concurrent.futures import ProcessPoolExecutor, as_completed


def square(n: int) -> int:
    return n * n


def worker(queue, name):
    queue.put((name, len(name)))


def main() -> None:
    print(mp.cpu_count() >= 1, mp.current_process().name, mp.get_start_method())
    try:
        with mp.Pool(2) as pool:
            print(pool.map(square, range(6)), pool.starmap(pow, [(2, 3), (3, 2)]))
    except (OSError, ImportError, RuntimeError) as e:
        print('Pool:', type(e).__name__, e)
        print('falling back to serial', [square(n) for n in range(6)])
    try:
        with ProcessPoolExecutor(max_workers=2) as executor:
            futures = {executor.submit(square, n): n for n in (3, 4)}
            print(sorted((futures[f], f.result()) for f in as_completed(futures)))
    except Exception as e:
        print('Executor:', type(e).__name__, e)
    try:
        queue = mp.Queue()
        process = mp.Process(target=worker, args=(queue, 'abc'))
        process.start()
        print(queue.get(timeout=10))
        process.join()
        print(process.exitcode)
    except Exception as e:
        print('Process:', type(e).__name__, e)
    try:
        value, lock = mp.Value('i', 5), mp.Lock()
        with lock:
            value.value += 1
        print(value.value, mp.Array('d', [1, 2])[:])
        with mp.Manager() as manager:
            print(dict(manager.dict(a=1)))
    except Exception as e:
        print('Shared:', type(e).__name__, e)
    print(os.getpid() == os.getpid())


if __name__ == '__main__':
    main()
