"""Threads at work: prints for each work its name, the best of five times in seconds, and a number to compare."""

import _thread
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROUNDS = 2000


def starts():
    for _ in range(200):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    return 200


def many():
    done = []
    threads = [threading.Thread(target=done.append, args=(1,)) for _ in range(1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done)


def beside(work, main):
    thread = threading.Thread(target=work)
    thread.start()
    result = main()
    thread.join()
    return result


def locks():
    here, there = _thread.allocate_lock(), _thread.allocate_lock()
    here.acquire()
    there.acquire()

    def work():
        for _ in range(ROUNDS):
            here.acquire()
            there.release()

    def main():
        for _ in range(ROUNDS):
            here.release()
            there.acquire()
        return ROUNDS

    return beside(work, main)


def queues():
    questions, answers = queue.Queue(), queue.Queue()

    def work():
        while (number := questions.get()) is not None:
            answers.put(number + 1)

    def main():
        total = 0
        for number in range(ROUNDS):
            questions.put(number)
            total += answers.get()
        questions.put(None)
        return total

    return beside(work, main)


def tasks():
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(int, range(ROUNDS)))


def sockets():
    here, there = socket.socketpair()

    def work():
        while data := there.recv(100):
            there.sendall(data)

    def main():
        count = 0
        for _ in range(ROUNDS):
            here.sendall(b"x" * 50)
            count += len(here.recv(100))
        here.close()
        return count

    count = beside(work, main)
    there.close()
    return count


WORKS = {
    "200 times start and join": starts,
    "1,000 threads, started and then joined": many,
    "2,000 rounds of two locks": locks,
    "2,000 rounds of two queues": queues,
    "2,000 tasks of an executor": tasks,
    "2,000 rounds of a socket pair": sockets,
}

print("threads", flush=True)
for name, work in WORKS.items():
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        number = work()
        seconds.append(time.perf_counter() - start)
    print(name, min(seconds), number, sep="\t", flush=True)
