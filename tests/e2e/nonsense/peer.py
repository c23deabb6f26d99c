# SPDX-License-Identifier: Apache-2.0
"""A peer of sgprsd that need not keep any rule: include/sgprs/abi/control.h and lane.h in Python."""
import array
import ctypes
import mmap
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import wait_until  # noqa: E402

MAGIC = 0x4C545243
HELLO, WELCOME, REFUSE, READY, GOODBYE, STATE, COMMAND, REPLY = range(1, 9)
HELLO_FORMAT = "<64s64sQQQII16s64sIIIIQ32x"
HELLO_FIELDS = ("name", "program", "period_ns", "deadline_ns", "job_launches", "task_class", "job_rule", "device_uuid",
                "device_name", "sm_count", "sm_minimum", "sm_alignment", "backends", "signature")
PARTITIONS = 32
SYS_FUTEX, FUTEX_WAKE = 202, 1  # x86_64; the bell of another machine is heard at the next heartbeat


def message(kind, body=b"", magic=MAGIC, major=2, minor=0, flags=0, size=None):
    """A packet; its header may lie."""
    size = 16 + len(body) if size is None else size
    return struct.pack("<IHHHHI", magic, major, minor, kind, flags, size) + body


def command(text):
    """A COMMAND packet."""
    data = text.encode()
    return message(COMMAND, struct.pack("<II4032s", 0, len(data), data))


def hello(**fields):
    """A HELLO packet of a device of 68 SMs; every field may be overridden."""
    values = dict(name=b"peer", program=b"peer.py", period_ns=0, deadline_ns=0, job_launches=0, task_class=2, job_rule=2,
                  device_uuid=b"u" * 16, device_name=b"device", sm_count=68, sm_minimum=2, sm_alignment=2, backends=15,
                  signature=0)
    assert set(fields) <= set(values), fields
    values.update(fields)
    return message(HELLO, struct.pack(HELLO_FORMAT, *(values[name] for name in HELLO_FIELDS)))


def ready(sm_counts, backend=0, count=None):
    """A READY packet."""
    count = len(sm_counts) if count is None else count
    return message(READY, struct.pack("<II32I", backend, count, *sm_counts, *[0] * (PARTITIONS - len(sm_counts))))


def device_of(stack):
    """Fields of a HELLO that name the stack's device, taken from what the shim itself says."""
    path = os.path.join(stack.dir, "listen.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen(1)
        server.settimeout(20)
        child = stack.start("manylaunch", "--launches", "10", "--rounds", "1", env={"SGPRS_SOCKET": path})
        connection, _ = server.accept()
        connection.settimeout(20)
        packet = connection.recv(4096)
        connection.close()
    os.unlink(path)
    child.communicate(timeout=30)
    fields = dict(zip(HELLO_FIELDS, struct.unpack(HELLO_FORMAT, packet[16:])))
    names = ("device_uuid", "device_name", "sm_count", "sm_minimum", "sm_alignment", "backends")
    return {name: fields[name] for name in names}


class Peer:
    """One connection to sgprsd. Receiving waits 10 s at most."""

    def __init__(self, path):
        self.lane = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)  # waits while sgprsd's backlog is full
        self.socket.settimeout(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Hangs up."""
        if self.lane is not None:
            self.lane.close()
            self.lane = None
        self.socket.close()

    def send(self, packet):
        """One packet."""
        self.socket.send(packet)

    def receive(self):
        """(type, body, fd or None); type 0 = hung up."""
        fds = array.array("i")
        try:
            data, ancillary, _, _ = self.socket.recvmsg(8192, socket.CMSG_LEN(4))
        except ConnectionResetError:
            return 0, b"", None
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(payload[:4])
        return (struct.unpack_from("<H", data, 8)[0] if data else 0), data[16:], (fds[0] if fds else None)

    def refusal(self):
        """(code, text) of the REFUSE that must come, followed by a hang-up."""
        kind, body, _ = self.receive()
        assert kind == REFUSE, kind
        assert self.receive()[0] == 0
        return struct.unpack_from("<I", body)[0], body[8:].split(b"\0")[0].decode()

    def register(self, **fields):
        """HELLO, WELCOME, lane, READY."""
        self.send(hello(**fields))
        kind, body, fd = self.receive()
        assert kind == WELCOME, (kind, body)
        _, lane_bytes, count, _ = struct.unpack_from("<QQII", body)
        sm_counts = [struct.unpack_from("<II", body, 24 + 8 * i)[1] for i in range(count)]
        self.lane = Lane(fd, lane_bytes)
        self.send(ready(sm_counts))
        return self

    def cut(self):
        """True once sgprsd has hung up."""
        self.lane.ring()
        self.socket.settimeout(0.05)
        try:
            while self.receive()[0]:
                pass
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(10)


class Lane:
    """The lane, writable everywhere, as a hostile process has it."""

    RECORDED, INTERNED, JOBS, GRANTED, PUBLISHED = 128, 136, 144, 192, 200
    ISSUED, GRANTS_CONSUMED, COMPLETED, COMPLETIONS = 256, 264, 320, 328
    RUNTIME_BELL, ISSUER_BELL, SETTINGS, COUNTERS = 384, 448, 512, 576
    SLOT_FORMAT = "<QQQIIIIHHHHHBBIQ"

    def __init__(self, fd, size):
        self.map = mmap.mmap(fd, size)
        os.close(fd)
        self.bell = ctypes.c_uint32.from_buffer(self.map, self.RUNTIME_BELL)
        self.slot_count, _, self.completion_count, self.kernel_count = struct.unpack_from("<IIII", self.map, 28)
        self.slots, self.grants, self.completions, self.kernels = struct.unpack_from("<QQQQ", self.map, 48)

    def close(self):
        """Unmaps."""
        del self.bell
        self.map.close()

    def get(self, offset):
        """The word at `offset`."""
        return struct.unpack_from("<Q", self.map, offset)[0]

    def put(self, offset, value):
        """Stores a word."""
        struct.pack_into("<Q", self.map, offset, value & (2**64 - 1))

    def ring(self):
        """Rings sgprsd's bell."""
        self.bell.value = (self.bell.value + 1) & 0xFFFFFFFF
        ctypes.CDLL(None).syscall(SYS_FUTEX, ctypes.byref(self.bell), FUTEX_WAKE, 1, None, None, 0)

    def slot(self, at, **fields):
        """Writes slot `at`."""
        values = dict(index=at, time_ns=0, bytes=0, job=1, kernel=0, stream=0, grid_x=1, grid_y=1, grid_z=1,
                      block_x=1, block_y=1, block_z=1, kind=1, flags=0, shared_bytes=0, gap_ns=0)
        assert set(fields) <= set(values), fields
        values.update(fields)
        struct.pack_into(self.SLOT_FORMAT, self.map, self.slots + 64 * (at % self.slot_count), *values.values())

    def record(self, count, job):
        """`count` launches of one job, as an honest shim records them."""
        first = self.get(self.RECORDED)
        for index in range(first, first + count):
            self.slot(index, job=job, flags=1 if index == first else 0)
        self.put(self.JOBS, job)
        self.put(self.RECORDED, first + count)
        self.ring()

    def completion(self, at, grant=0, upto=0, flags=0, times=0):
        """Writes entry `at` of the completion ring and publishes up to it."""
        struct.pack_into("<QQQQQQIIHHI", self.map, self.completions + 64 * (at % self.completion_count), grant, upto,
                         times, times, times, times, 1, 1, 0, flags, 0)
        self.put(self.COMPLETIONS, at + 1)

    def granted(self):
        """Waits for a grant."""
        wait_until(lambda: self.get(self.PUBLISHED) > 0, what="a grant")
