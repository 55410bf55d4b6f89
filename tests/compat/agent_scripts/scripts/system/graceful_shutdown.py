import os
import signal
import sys
import time


class Service:
    running = True
    reloads = 0

    def stop(self, signum, frame):
        print(f'received {signal.strsignal(signum)}, finishing in {frame.f_code.co_name}')
        self.running = False

    def reload(self, signum, _frame):
        self.reloads += 1


service = Service()
signal.signal(signal.SIGTERM, service.stop)
signal.signal(signal.SIGUSR1, service.reload)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
for step in range(5):
    print('step', step)
    if step == 1:
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGHUP)
    if step == 3:
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)
    if not service.running:
        break
print('reloads', service.reloads)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
signal.raise_signal(signal.SIGUSR1)
print(signal.sigpending(), service.reloads)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
print(service.reloads, len(signal.valid_signals()) > 50)
try:
    signal.signal(signal.SIGKILL, service.stop)
except OSError as e:
    print('cannot catch SIGKILL:', e)
try:
    signal.signal(999, service.stop)
except ValueError as e:
    print(e)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
except KeyboardInterrupt:
    print('interrupted')
    sys.exit(130)
