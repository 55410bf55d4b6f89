"""An operating system's scheduler in small: tasks of several classes that pass packets through queues."""

IDLE, WORKER, HANDLER, DEVICE = range(4)


class Packet:
    def __init__(self, kind, owner):
        self.kind, self.owner, self.value, self.link = kind, owner, 0, None


class Queue:
    """A linked list of packets."""

    def __init__(self):
        self.first = None

    def put(self, packet):
        packet.link = None
        if self.first is None:
            self.first = packet
            return
        at = self.first
        while at.link is not None:
            at = at.link
        at.link = packet

    def take(self):
        packet = self.first
        if packet is not None:
            self.first, packet.link = packet.link, None
        return packet


class Task:
    def __init__(self, kernel, name, priority):
        self.kernel, self.name, self.priority = kernel, name, priority
        self.queue, self.held, self.runs = Queue(), False, 0

    def ready(self):
        return not self.held and self.queue.first is not None

    def run(self):
        self.runs += 1
        self.step(self.queue.take())


class Idle(Task):
    def __init__(self, kernel, name, priority, limit):
        super().__init__(kernel, name, priority)
        self.state, self.left = 0x2F1B, limit

    def ready(self):
        return self.left > 0

    def step(self, _):
        self.left -= 1
        bit = self.state & 1
        self.state = (self.state >> 1) ^ (0xD008 if bit else 0)
        self.kernel.send("device a" if bit else "device b", Packet(DEVICE, "idle"))


class Worker(Task):
    def step(self, packet):
        packet.value += 1
        packet.kind = WORKER
        self.kernel.send("handler a" if packet.value & 1 else "handler b", packet)


class Handler(Task):
    def step(self, packet):
        if packet.kind == DEVICE:
            packet.kind = HANDLER
            self.kernel.send("worker", packet)
        else:
            self.kernel.done += packet.value


class Device(Task):
    def __init__(self, kernel, name, priority, target):
        super().__init__(kernel, name, priority)
        self.target, self.pending = target, None

    def step(self, packet):
        if self.pending is None:
            self.pending = packet
        else:
            first, self.pending = self.pending, None
            self.kernel.send(self.target, first)
            self.kernel.send(self.target, packet)


class Kernel:
    def __init__(self, limit):
        self.done, self.switches = 0, 0
        tasks = [
            Idle(self, "idle", 0, limit),
            Worker(self, "worker", 10),
            Handler(self, "handler a", 20),
            Handler(self, "handler b", 21),
            Device(self, "device a", 30, "handler a"),
            Device(self, "device b", 31, "handler b"),
        ]
        self.tasks = {task.name: task for task in tasks}
        self.order = sorted(tasks, key=lambda task: -task.priority)

    def send(self, name, packet):
        self.tasks[name].queue.put(packet)

    def loop(self):
        while True:
            for task in self.order:
                if task.ready():
                    task.run()
                    self.switches += 1
                    break
            else:
                return


def run():
    kernel = Kernel(6000)
    kernel.loop()
    return [kernel.done, kernel.switches, [task.runs for task in kernel.order]]
